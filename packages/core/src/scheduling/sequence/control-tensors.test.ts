import { parseConfigText } from "@naiad/model-config";
import { decodeStringElements, invariant, typedElements } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { ControlTensors, RowControls } from "./control-tensors.ts";
import { controlTensors } from "./control-tensors.ts";

function controls(text: string, maxBatchSize = 4): ControlTensors {
  const inputs = text
    .split(";")
    .map(
      (control, index) => `control_input { name: "C${index}" control { kind: CONTROL_SEQUENCE_${control} } }`,
    );
  const config = parseConfigText(`sequence_batching { ${inputs.join(" ")} }`, { fileName: "config.pbtxt" });
  invariant(config.schedulingChoice.case === "sequenceBatching", "it has sequences");
  return controlTensors(config.schedulingChoice.value, { name: "m", maxBatchSize });
}

const ROW: RowControls = { start: true, end: false, ready: true, id: 7n };

function values(made: ControlTensors, row: RowControls): readonly string[] {
  return made.of(row).map(({ name, datatype, shape, bytes }) => {
    const elements =
      datatype === "BYTES" ? decodeStringElements(bytes, name) : [...typedElements(datatype, bytes)];
    return `${name} ${datatype}[${shape.join()}] ${elements.join()}`;
  });
}

describe("controlTensors", () => {
  it("carry the values that the configuration gives to no and yes, in its types", () => {
    const made = controls(
      "START int32_false_true: [3, 4];READY fp32_false_true: [0.5, -1];END bool_false_true: [true, false]",
    );
    expect(values(made, ROW)).toEqual(["C0 INT32[1,1] 4", "C2 BOOL[1,1] 1", "C1 FP32[1,1] -1"]);
    expect(values(made, { ...ROW, start: false, end: true, ready: false })).toEqual([
      "C0 INT32[1,1] 3",
      "C2 BOOL[1,1] 0",
      "C1 FP32[1,1] 0.5",
    ]);
  });

  it("have no batch dimension in a model that does not batch", () => {
    expect(values(controls("START int32_false_true: [0, 1]", 0), ROW)).toEqual(["C0 INT32[1] 1"]);
  });

  it.each([
    ["UINT64", 2n ** 63n + 1n, "C0 UINT64[1,1] 9223372036854775809"],
    ["INT64", 7n, "C0 INT64[1,1] 7"],
    ["UINT32", 7n, "C0 UINT32[1,1] 7"],
    ["UINT32", 2n ** 32n + 7n, "C0 UINT32[1,1] 7"],
    ["INT32", 2n ** 31n, "C0 INT32[1,1] -2147483648"],
    ["STRING", "Grüße", "C0 BYTES[1,1] Grüße"],
    ["STRING", 0n, "C0 BYTES[1,1] "],
  ])("give the id as %s", (type, id, expected) => {
    expect(values(controls(`CORRID data_type: TYPE_${type}`), { ...ROW, id })).toEqual([expected]);
  });

  it("say what carries the id", () => {
    expect(controls("CORRID data_type: TYPE_INT32").correlationId).toEqual({ name: "C0", datatype: "INT32" });
    expect(controls("START int32_false_true: [0, 1]").correlationId).toBeUndefined();
  });
});
