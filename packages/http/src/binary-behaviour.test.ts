import type { HeaderList, JsonObject, JsonValue } from "@naiad/protocol";
import { encodeBytesElements, encodeJson } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { createHttpBench } from "../test/http-bench.ts";
import { infer, input, MODELS, outcome, SIXTEEN, startBench } from "../test/infer-bench.ts";

describe("binary tensors", () => {
  const length = (text: string): HeaderList => [["inference-header-content-length", text]];
  const json = (inputs: readonly JsonValue[], more: JsonObject = {}): Uint8Array =>
    encodeJson({ inputs, ...more });
  const binary = (size: JsonValue, name = "INPUT0", datatype = "FP32"): JsonObject => ({
    name,
    shape: [1],
    datatype,
    parameters: { binary_data_size: size },
  });
  const joined = (...parts: readonly Uint8Array[]): Uint8Array =>
    Uint8Array.from(parts.flatMap((part) => [...part]));

  it("go in and out, beside JSON", async () => {
    const { post } = await startBench();
    const head = json(
      [
        input("INPUT0"),
        { name: "INPUT1", shape: [1, 16], datatype: "INT32", parameters: { binary_data_size: 64 } },
      ],
      {
        outputs: [{ name: "OUTPUT1", parameters: { binary_data: true } }, { name: "OUTPUT0" }],
      },
    );
    const blob = new Uint8Array(Int32Array.from(SIXTEEN, (value) => -value).buffer);
    const answer = await post(infer("simple"), joined(head, blob), length(String(head.length)));
    expect(answer.header("content-type")).toBe("application/octet-stream");
    const headerLength = Number(answer.header("inference-header-content-length"));
    expect(new TextDecoder().decode(answer.bytes.subarray(0, headerLength))).toBe(
      '{"model_name":"simple","model_version":"1","outputs":[' +
        '{"name":"OUTPUT1","datatype":"INT32","shape":[1,16],"parameters":{"binary_data_size":64}},' +
        `{"name":"OUTPUT0","datatype":"INT32","shape":[1,16],"data":[${SIXTEEN.map((value) => 0 - value).join(",")}]}]}`,
    );
    // The backend gives the first output that is asked for the first input.
    expect(answer.bytes.subarray(headerLength)).toEqual(new Uint8Array(Int32Array.from(SIXTEEN).buffer));
  });

  it.each<[string, Uint8Array, string | undefined, number, string]>([
    [
      "without the header",
      joined(json([binary(4)])),
      undefined,
      400,
      "must specify valid 'Infer-Header-Content-Length' in request header and 'binary_data_size' when passing inputs in binary data format",
    ],
    [
      "too short",
      joined(json([binary(4)]), Uint8Array.of(1, 2)),
      "-2",
      400,
      "unexpected size for input 'INPUT0', expecting 2 additional bytes for model 'fp32'",
    ],
    [
      "too long",
      joined(json([binary(4)]), new Uint8Array(5)),
      "-5",
      400,
      "unexpected additional input data for model 'fp32'",
    ],
    [
      "of another size than the shape says",
      joined(json([binary(8)]), new Uint8Array(8)),
      "-8",
      400,
      "[request id: <id_unknown>] input byte size mismatch for input 'INPUT0' for model 'fp32'. Expected 4, got 8",
    ],
    [
      "of negative size",
      json([binary(-4)]),
      undefined,
      500,
      "Unable to parse 'binary_data_size': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      "with a length that is no number",
      json([binary(4)]),
      "many",
      400,
      "Unable to parse Inference-Header-Content-Length, got: many",
    ],
  ])("%s are refused", async (_name, body, header, status, error) => {
    const { post } = await startBench();
    // A negative header counts from the end of the body.
    const text = header?.startsWith("-") === true ? String(body.length + Number(header)) : header;
    expect(outcome(await post(infer("fp32"), body, text === undefined ? [] : length(text)))).toEqual([
      status,
      error,
    ]);
  });

  it.each(["-1", "1000000"])("are not where a header of %s bytes is", async (text) => {
    const { post } = await startBench();
    const body = json([binary(0)]);
    expect(outcome(await post(infer("fp32"), body, length(text)))).toEqual([
      400,
      `inference header size should be in range (0, ${String(body.length)}), got: ${text}`,
    ]);
  });

  it("of FP16 go both ways, and only so", async () => {
    const { post } = await startBench();
    const head = json(
      [{ name: "INPUT0", shape: [2], datatype: "FP16", parameters: { binary_data_size: 4 } }],
      {
        parameters: { binary_data_output: true },
      },
    );
    const blob = Uint8Array.of(0, 60, 0, 64);
    const answer = await post(infer("half"), joined(head, blob), length(String(head.length)));
    expect(answer.bytes.subarray(-4)).toEqual(blob);
    const plain = json([
      { name: "INPUT0", shape: [2], datatype: "FP16", parameters: { binary_data_size: 4 } },
    ]);
    expect(outcome(await post(infer("half"), joined(plain, blob), length(String(plain.length))))).toEqual([
      400,
      "sending FP16 data via JSON is not supported. Please use the binary data format for output OUTPUT0",
    ]);
  });

  it.each<[string, Uint8Array, string]>([
    [
      "cut in its length",
      Uint8Array.of(1, 0),
      "[request id: <id_unknown>] incomplete string length indicator for inference input 'INPUT0' for model 'texts', expecting 4 bytes but only 2 bytes available. Please make sure the string length indicator is in one buffer.",
    ],
    [
      "cut in its text",
      Uint8Array.of(9, 0, 0, 0, 65),
      "incomplete string data for inference input 'INPUT0', expecting string of length 9 but only 1 bytes available",
    ],
    [
      "without its text",
      new Uint8Array(0),
      "[request id: <id_unknown>] expected 1 string elements for inference input 'INPUT0' for model 'texts', got 0",
    ],
    [
      "with a second text",
      encodeBytesElements(["a", "b"]),
      "[request id: <id_unknown>] unexpected number of string elements 2 for inference input 'INPUT0' for model 'texts', expecting 1",
    ],
  ])("of strings, %s", async (_name, blob, error) => {
    const { post } = await startBench();
    const head = json([binary(blob.length, "INPUT0", "BYTES")]);
    expect(outcome(await post(infer("texts"), joined(head, blob), length(String(head.length))))).toEqual([
      400,
      error,
    ]);
  });
});

describe("raw binary requests", () => {
  const RAW: HeaderList = [["inference-header-content-length", "0"]];

  it.each<[string, Uint8Array, readonly number[]]>([
    ["fp32", new Uint8Array(12), [3]],
    ["fp32", new Uint8Array(0), [0]],
    ["fixed", new Uint8Array(8), [1, 2]],
    ["text", new TextEncoder().encode("hello"), [1, 1]],
    ["text", new Uint8Array(0), [1, 1]],
  ])("give %s the only input", async (model, body, shape) => {
    const { post, bench } = await startBench();
    const answer = await post(infer(model), body, RAW);
    expect(answer.status).toBe(200);
    expect(bench.backend.executions[0]?.requests[0]?.inputs[0]?.shape).toEqual(shape);
    const sent = model === "text" ? encodeBytesElements([body]) : body;
    expect(answer.bytes.subarray(answer.bytes.length - sent.length)).toEqual(sent);
  });

  it.each<[string, Uint8Array, string]>([
    [
      "simple",
      new Uint8Array(64),
      "[request id: <id_unknown>] Raw request must only have 1 input (found 1) to be deduced but got 2 inputs in 'simple' model configuration",
    ],
    [
      "texts",
      new Uint8Array(4),
      "[request id: <id_unknown>] For BYTE datatype raw input 'INPUT0', the model must have input shape [1]",
    ],
    [
      "open",
      new Uint8Array(4),
      "[request id: <id_unknown>] The shape of the raw input 'INPUT0' can not be deduced because there are more than one variable-sized dimension",
    ],
    [
      "fixed",
      new Uint8Array(12),
      "[request id: <id_unknown>] input byte size mismatch for input 'raw_input' for model 'fixed'. Expected 8, got 12",
    ],
    [
      "fp32",
      new Uint8Array(5),
      "[request id: <id_unknown>] input byte size mismatch for input 'raw_input' for model 'fp32'. Expected 4, got 5",
    ],
  ])("to %s are refused where the input does not follow", async (model, body, error) => {
    const { post } = await startBench();
    expect(outcome(await post(infer(model), body, RAW))).toEqual([400, error]);
  });

  it("have a limit", async () => {
    const { post } = await createHttpBench({ models: MODELS, http: { maxInputSize: 10 } });
    expect(outcome(await post(infer("fp32"), new Uint8Array(12), RAW))).toEqual([
      400,
      "Raw input has a byte_size (12 bytes) that exceeds the maximum allowed value of 10 bytes. Use --http-max-input-size to increase the limit.",
    ]);
  });
});
