import { parseConfigText } from "@naiad/model-config";
import { decodeBytesElements, elementCount, tensorByteSize, typedElements } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { InstanceRequest } from "../ports.ts";
import { verificationRequests } from "./verification-inputs.ts";

function requestsOf(config: string): readonly (readonly InstanceRequest[])[] {
  const parsed = parseConfigText(`name: "m" ${config}`, { fileName: "config.pbtxt" });
  return verificationRequests(parsed).map((alternatives) => alternatives.map(({ make }) => make()));
}

function shapesOf(requests: readonly (readonly InstanceRequest[])[]): readonly (readonly string[])[] {
  return requests.map(([first]) => (first?.inputs ?? []).map(({ shape }) => shape.join()));
}

const OUTPUT = 'output { name: "Y" data_type: TYPE_FP32 dims: 1 }';
const input = (name: string, type: string, rest: string): string =>
  `input { name: "${name}" data_type: TYPE_${type} ${rest} }`;

describe("verificationRequests", () => {
  it("have one row, then several, where the model batches", () => {
    const requests = requestsOf(`max_batch_size: 8 ${input("X", "FP32", "dims: 4")} ${OUTPUT}`);
    expect(shapesOf(requests)).toEqual([["1,4"], ["3,4"]]);
    expect(requests.map(([first]) => first?.batchSize)).toEqual([1, 3]);
    expect(requests[0]?.[0]?.outputs).toEqual(["Y"]);
  });

  it("keep to the largest batch and to whole shapes", () => {
    expect(shapesOf(requestsOf(`max_batch_size: 2 ${input("X", "FP32", "dims: 4")} ${OUTPUT}`))).toEqual([
      ["1,4"],
      ["2,4"],
    ]);
    expect(shapesOf(requestsOf(`${input("X", "FP32", "dims: [2, 4]")} ${OUTPUT}`))).toEqual([
      ["2,4"],
      ["2,4"],
    ]);
  });

  it("give all variable dimensions one size, and try several", () => {
    const config = `${input("X", "FP32", "dims: [3, -1, -1]")} ${input("Z", "FP32", "dims: -1")} ${OUTPUT}`;
    expect(shapesOf(requestsOf(config)).slice(0, 3)).toEqual([
      ["3,16,16", "16"],
      ["3,32,32", "32"],
      ["3,64,64", "64"],
    ]);
  });

  it("have the model's own shapes, and leave out optional inputs", () => {
    const reshaped = input("X", "FP32", "dims: 1 reshape { shape: [] }");
    const optional = input("Z", "FP32", "dims: 3 optional: true");
    expect(shapesOf(requestsOf(`${reshaped} ${optional} ${OUTPUT}`))).toEqual([[""], [""]]);
  });

  it("bring what a sequence batcher adds: controls and states", () => {
    const batching = `sequence_batching {
      control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }
      control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }
      state { input_name: "S" output_name: "S_OUT" data_type: TYPE_FP32 dims: [2, 128] }
    }`;
    const [[request] = []] = requestsOf(
      `max_batch_size: 8 ${input("X", "FP32", "dims: 4")} ${OUTPUT} ${batching}`,
    );
    expect(request?.inputs.map(({ name, datatype, shape }) => `${name} ${datatype} ${shape.join()}`)).toEqual(
      ["X FP32 1,4", "START INT32 1,1", "ID UINT64 1,1", "S FP32 1,2,128"],
    );
    expect(request?.outputs).toEqual(["Y"]);
  });

  it("leave out shapes that would be too large", () => {
    expect(requestsOf(`${input("X", "FP32", "dims: [4096, 4096]")} ${OUTPUT}`)).toEqual([]);
    const sizes = shapesOf(requestsOf(`${input("X", "FP32", "dims: [1024, -1, -1]")} ${OUTPUT}`));
    expect(sizes).not.toContainEqual(["1024,224,224"]);
  });

  it("have small, zero or one integers, and floats in [-1, 1)", () => {
    const [alternatives = []] = requestsOf(
      `${input("I", "INT64", "dims: 64")} ${input("X", "FP32", "dims: 64")} ${OUTPUT}`,
    );
    expect(alternatives).toHaveLength(3);
    const values = alternatives.map(({ inputs: [integers] }) =>
      integers?.kind === "bytes" ? [...typedElements("INT64", integers.bytes)] : [],
    );
    expect(new Set(values[0]).size).toBeGreaterThan(4);
    expect(values[0]?.every((value) => value >= 0n && value < 8n)).toBe(true);
    expect(new Set(values[1])).toEqual(new Set([0n]));
    expect(new Set(values[2])).toEqual(new Set([1n]));
    const floats = alternatives[0]?.inputs[1];
    const numbers = floats?.kind === "bytes" ? [...typedElements("FP32", floats.bytes)] : [];
    expect(new Set(numbers).size).toBe(64);
    expect(numbers.every((value) => value >= -1 && value < 1)).toBe(true);
    expect(Math.min(...numbers)).toBeLessThan(0);
  });

  it("fill every datatype, the same each time, and no two inputs alike", () => {
    const types = ["BOOL", "UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64"];
    const all = [...types, "FP16", "FP32", "FP64", "BF16"];
    const config = `${all.map((type) => input(type, type, "dims: 16")).join(" ")} ${OUTPUT}`;
    const [first] = requestsOf(config)[0] ?? [];
    expect(requestsOf(config)[0]?.[0]).toEqual(first);
    for (const tensor of first?.inputs ?? []) {
      if (tensor.kind !== "bytes") continue;
      expect(tensor.bytes.byteLength).toBe(tensorByteSize(tensor.datatype, tensor.shape));
      expect(new Set(tensor.bytes).size).toBeGreaterThan(1);
    }
    const [int32, uint32] = ["INT32", "UINT32"].map((name) => first?.inputs.find((one) => one.name === name));
    expect(int32?.kind === "bytes" && uint32?.kind === "bytes" && int32.bytes).not.toEqual(
      uint32?.kind === "bytes" && uint32.bytes,
    );
  });

  it("write numbers into texts", () => {
    const [[request] = []] = requestsOf(`${input("T", "STRING", "dims: [2, 3]")} ${OUTPUT}`);
    const [tensor] = request?.inputs ?? [];
    const elements = tensor?.kind === "bytes" ? decodeBytesElements(tensor.bytes, "T") : [];
    expect(elements).toHaveLength(elementCount([2, 3]));
    for (const element of elements) expect(new TextDecoder().decode(element)).toMatch(/^\d$/);
  });
});
