import type { TraceActivity } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { inTimeOrder } from "./in-time-order.ts";

const time = (id: number, name: string, ns: number): TraceActivity => ({ kind: "timestamp", id, name, ns });
const tensor = (id: number, name: string): TraceActivity => ({
  kind: "tensor",
  id,
  activity: "TENSOR_BACKEND_OUTPUT",
  name,
  data: "",
  shape: [],
  datatype: "FP32",
});

describe("inTimeOrder", () => {
  it("puts what was told late where it happened", () => {
    const told = [
      time(1, "QUEUE_START", 1),
      time(1, "SORT_START", 4),
      time(2, "REQUEST_START", 5),
      time(2, "REQUEST_END", 6),
      time(1, "SORT_END", 6),
      time(1, "COMPUTE_START", 2),
      time(1, "COMPUTE_END", 8),
    ];
    expect(inTimeOrder(told).map(({ id, name }) => `${String(id)} ${name}`)).toEqual([
      "1 QUEUE_START",
      "1 COMPUTE_START",
      "1 SORT_START",
      "2 REQUEST_START",
      "2 REQUEST_END",
      "1 SORT_END",
      "1 COMPUTE_END",
    ]);
  });

  it("leaves tensors behind what was told before them of their request", () => {
    const told = [
      tensor(3, "first"),
      time(1, "QUEUE_START", 3),
      tensor(1, "x"),
      time(2, "QUEUE_START", 2),
      tensor(2, "y"),
      time(1, "COMPUTE_START", 3),
    ];
    expect(inTimeOrder(told).map(({ name }) => name)).toEqual([
      "first",
      "QUEUE_START",
      "y",
      "QUEUE_START",
      "x",
      "COMPUTE_START",
    ]);
  });
});
