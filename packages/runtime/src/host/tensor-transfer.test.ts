import type { InstanceRequest } from "@naiad/core";
import type { BytesTensor, DeviceTensor } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { copyRequests, giveBytes, giveTensors } from "./tensor-transfer.ts";

const tensor = (name: string, bytes: Uint8Array): BytesTensor => ({
  kind: "bytes",
  name,
  datatype: "UINT8",
  shape: [bytes.byteLength],
  bytes,
});
const DEVICE: DeviceTensor = {
  kind: "device",
  name: "d",
  datatype: "FP32",
  shape: [1],
  worker: "w",
  handle: 1,
};
const request = (...inputs: InstanceRequest["inputs"]): InstanceRequest => ({
  id: "",
  inputs,
  outputs: ["y"],
  batchSize: 1,
  parameters: {},
});
const contentOf = (tensors: InstanceRequest["inputs"]) =>
  tensors.map((each) => (each.kind === "bytes" ? [...each.bytes] : each.handle));

describe("copyRequests", () => {
  it("copies exactly each tensor's bytes into a buffer of its own", () => {
    const body = Uint8Array.from({ length: 1000 }, (_, index) => index % 256);
    const requests = [
      request(tensor("a", body.subarray(3, 5)), DEVICE),
      request(tensor("a", body.subarray(5, 6)), tensor("b", body.subarray(0, 0))),
    ];
    const { value, transfer } = copyRequests(requests);
    expect(transfer.map((buffer) => (buffer as ArrayBuffer).byteLength)).toEqual([2, 1, 0]);

    const arrived = structuredClone(value, { transfer: [...transfer] });
    expect(arrived.map(({ inputs }) => contentOf(inputs))).toEqual([
      [[3, 4], 1],
      [[5], []],
    ]);
    expect(body.byteLength).toBe(1000);
  });

  it("sends all that the port has, and nothing else that the scheduler keeps in a request", () => {
    const sent: Required<InstanceRequest> = {
      ...request(tensor("a", Uint8Array.of(1))),
      keepOnDevice: ["y"],
      timeoutUs: 3,
      priority: 2,
      sequence: { id: 7n, start: true, end: false },
      traceId: 9,
    };
    const queued = { ...sent, timeoutNs: 5, onlyTheScheduler: () => 1 };
    expect(copyRequests([queued]).value).toEqual([sent]);
    const [plain] = copyRequests([{ ...request(), timeoutUs: 0 }]).value;
    expect(plain).not.toHaveProperty("sequence");
    expect(plain).not.toHaveProperty("timeoutUs");
  });

  it("takes the same tensor in two requests", () => {
    const shared = tensor("a", Uint8Array.of(1, 2));
    const { value, transfer } = copyRequests([request(shared), request(shared)]);
    const arrived = structuredClone(value, { transfer: [...transfer] });
    expect(arrived.map(({ inputs }) => contentOf(inputs))).toEqual([[[1, 2]], [[1, 2]]]);
  });
});

describe("giveTensors", () => {
  it("gives a buffer of its own away and copies what shares one", () => {
    const own = Uint8Array.of(1, 2, 3);
    const batch = Uint8Array.of(4, 5, 6, 7);
    const { value, transfer } = giveTensors([tensor("own", own), tensor("row", batch.subarray(2)), DEVICE]);
    const arrived = structuredClone(value, { transfer: [...transfer] });
    expect(contentOf(arrived)).toEqual([[1, 2, 3], [6, 7], 1]);
    expect(own.byteLength).toBe(0);
    expect([...batch]).toEqual([4, 5, 6, 7]);
  });

  it("gives one buffer away only once", () => {
    const bytes = Uint8Array.of(1, 2);
    const { value, transfer } = giveTensors([tensor("x", bytes), tensor("y", bytes)]);
    const arrived = structuredClone(value, { transfer: [...transfer] });
    expect(contentOf(arrived)).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });
});

describe("giveBytes", () => {
  it("keeps a whole buffer and copies a part of one", () => {
    const whole = Uint8Array.of(1, 2, 3);
    expect(giveBytes(whole)).toBe(whole.buffer);
    const part = giveBytes(whole.subarray(1, 2));
    expect([...new Uint8Array(part)]).toEqual([2]);
  });

  it("leaves shared memory", () => {
    const given = giveBytes(new Uint8Array(new SharedArrayBuffer(2)));
    expect(given).toBeInstanceOf(ArrayBuffer);
    expect(given.byteLength).toBe(2);
  });
});
