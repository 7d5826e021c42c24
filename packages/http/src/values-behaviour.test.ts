import type { JsonObject, JsonValue } from "@naiad/protocol";
import { encodeBytesElements, encodeJson } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { createHttpBench } from "../test/http-bench.ts";
import { fakeModel, identityModel } from "../test/models.ts";

/** What Triton's suites for strings, NUL characters, NaN and infinity, and parameters look after, against a whole server. */
const MODELS = {
  fp32: identityModel("FP32", "[-1]"),
  fp64: identityModel("FP64", "[-1]"),
  int64: identityModel("INT64", "[-1]"),
  uint64: identityModel("UINT64", "[-1]"),
  int8: identityModel("INT8", "[-1]"),
  uint16: identityModel("UINT16", "[-1]"),
  bool: identityModel("BOOL", "[-1]"),
  text: identityModel("STRING", "[-1]"),
  texts: identityModel("STRING", "[2]", { maxBatchSize: 8 }),
  classes: fakeModel({
    inputs: "IN FP32 [3]",
    outputs: 'OUT FP32 [3] label_filename: "labels.txt"',
    maxBatchSize: 4,
    files: { "labels.txt": "cat\ndog\n" },
  }),
};

const DATATYPES: Readonly<Record<string, string>> = { text: "BYTES", texts: "BYTES" };

function infer(model: string): string {
  return `/v2/models/${model}/infer`;
}

/** The body for one input whose data are given as JSON text. */
function bodyOf(model: string, shape: string, data: string): string {
  const datatype = DATATYPES[model] ?? model.toUpperCase();
  return `{"inputs":[{"name":"INPUT0","datatype":"${datatype}","shape":${shape},"data":${data}}]}`;
}

async function echo(model: string, shape: string, data: string): Promise<string> {
  const { post } = await createHttpBench({ models: MODELS, load: [model] });
  const { text } = await post(infer(model), bodyOf(model, shape, data));
  return /"data":(.*)\}\]\}$/s.exec(text)?.[1] ?? text;
}

describe("numbers", () => {
  it.each([
    ["fp32", "[NaN,Infinity,-Infinity,Inf,-Inf]", "[NaN,Infinity,-Infinity,Infinity,-Infinity]"],
    ["fp64", "[NaN,1,-Infinity]", "[NaN,1.0,-Infinity]"],
    [
      "fp32",
      "[0.1,1,-0.0,1e30,16777217,3.4e39]",
      "[0.10000000149011612,1.0,-0.0,1.0000000150474662e30,16777216.0,Infinity]",
    ],
    ["fp64", "[0.1,5e-324,1e21,123456789012345680000]", "[0.1,5e-324,1e21,123456789012345680000.0]"],
    ["int64", "[9007199254740993,-9223372036854775808]", "[9007199254740993,-9223372036854775808]"],
    ["uint64", "[18446744073709551615,0]", "[18446744073709551615,0]"],
    ["int8", "[127,128,-129,1000]", "[127,-128,127,-24]"],
    ["uint16", "[65535,65536,65537]", "[65535,0,1]"],
    ["bool", "[true,false]", "[true,false]"],
  ])("%s %s come back as %s", async (model, data, expected) => {
    const count = data.split(",").length;
    expect(await echo(model, `[${String(count)}]`, data)).toBe(expected);
  });

  it("are the same in a long list, which is read in another way", async () => {
    const data = Array.from({ length: 300 }, (_, index) => (index % 2 === 0 ? "0.1" : String(index)));
    const expected = data.map((text) => (text === "0.1" ? "0.10000000149011612" : `${text}.0`));
    expect(await echo("fp32", "[300]", `[${data.join(",")}]`)).toBe(`[${expected.join(",")}]`);
    const mixed = [...data.slice(1), "NaN"];
    expect(await echo("fp32", "[300]", `[${mixed.join(",")}]`)).toBe(
      `[${[...expected.slice(1), "NaN"].join(",")}]`,
    );
  });

  it.each([
    ["int64", "[9223372036854775808]", "non-signed-integer as signed-integer"],
    ["uint64", "[-1]", "non-unsigned-integer as unsigned-integer"],
    ["uint64", "[18446744073709551616]", "non-unsigned-integer as unsigned-integer"],
    ["int8", "[1.0]", "non-signed-integer as signed-integer"],
    ["int8", "[NaN]", "non-signed-integer as signed-integer"],
    ["fp32", "[null]", "non-number as double"],
    ["bool", "[0]", "non-boolean as boolean"],
  ])("%s cannot be %s", async (model, data, error) => {
    expect(await echo(model, "[1]", data)).toBe(
      `{"error":"Unable to parse 'data': attempt to access JSON ${error}"}`,
    );
  });

  it.each([
    ["1e309", "Number too big to be stored in double.", 0],
    ["1.", "Miss fraction part in number.", 2],
    ["1e", "Miss exponent in number.", 2],
    ["+1", "Invalid value.", 0],
    ["nan", "Invalid value.", 1],
    ["[1,]", "Invalid value.", 3],
    ["1 2", "Missing a comma or ] after an array element.", 2],
  ])("%s is no JSON", async (number, error, offset) => {
    const at = String(bodyOf("fp32", "[1]", "[|]").indexOf("|") + offset);
    expect(await echo("fp32", "[1]", `[${number}]`)).toBe(
      `{"error":"failed to parse the request JSON buffer: ${error} at ${at}"}`,
    );
  });
});

describe("strings", () => {
  it.each([
    ["", '[""]'],
    ["NUL characters", '["a\\u0000b","\\u0000"]'],
    ["other control characters", '["\\n\\t\\u001f"]'],
    ["quotes and backslashes", '["\\"\\\\"]'],
    ["other scripts", '["größe","猫","🐈"]'],
    ["numbers as text", '["1","2.5","-3"]'],
  ])("may hold %s", async (_name, data) => {
    const count = (JSON.parse(data) as unknown[]).length;
    expect(await echo("text", `[${String(count)}]`, data)).toBe(data);
  });

  it("go in and out in binary, whatever their bytes are", async () => {
    const { post } = await createHttpBench({ models: MODELS, load: ["texts"] });
    const blob = encodeBytesElements([Uint8Array.of(0, 255, 128), new Uint8Array(0), "b", "c"]);
    const head = encodeJson({
      inputs: [
        { name: "INPUT0", shape: [2, 2], datatype: "BYTES", parameters: { binary_data_size: blob.length } },
      ],
      parameters: { binary_data_output: true },
    });
    const body = Uint8Array.from([...head, ...blob]);
    const answer = await post(infer("texts"), body, [
      ["inference-header-content-length", String(head.length)],
    ]);
    expect(answer.bytes.subarray(-blob.length)).toEqual(blob);
  });

  it.each([
    [
      "[2]",
      '["a"]',
      "[request id: <id_unknown>] expected 2 string elements for inference input 'INPUT0' for model 'text', got 1",
    ],
    [
      "[1]",
      '["a","b"]',
      "[request id: <id_unknown>] unexpected number of string elements 2 for inference input 'INPUT0' for model 'text', expecting 1",
    ],
  ])("of shape %s are not %s", async (shape, data, error) => {
    expect(await echo("text", shape, data)).toBe(`{"error":"${error}"}`);
  });

  it.each([
    ['["\\ud800"]', "The surrogate pair in string is invalid.", 2],
    ['["\\x"]', "Invalid escape character in string.", 2],
    ['["\\u12G4"]', "Incorrect hex digit after \\\\u escape in string.", 2],
    ['["a', "Missing a closing quotation mark in string.", 3],
  ])("%s are no JSON", async (data, error, offset) => {
    const { post } = await createHttpBench({ models: MODELS, load: ["text"] });
    const [head = ""] = bodyOf("text", "[1]", data).split("}]}");
    const { text } = await post(infer("text"), head);
    const at = String(bodyOf("text", "[1]", "|").indexOf("|") + offset);
    expect(text).toBe(`{"error":"failed to parse the request JSON buffer: ${error} at ${at}"}`);
  });
});

describe("parameters", () => {
  async function received(parameters: JsonValue) {
    const { post, bench } = await createHttpBench({ models: MODELS, load: ["fp32"] });
    const body = { inputs: [{ name: "INPUT0", datatype: "FP32", shape: [1], data: [1] }], parameters };
    const answer = await post(infer("fp32"), body);
    return { answer, parameters: bench.backend.executions[0]?.requests[0]?.parameters };
  }

  it("of one's own reach the model", async () => {
    const own: JsonObject = { text: "x", number: 5, big: 2n ** 60n, fraction: 0.5, yes: true, "": "" };
    const { parameters } = await received(own);
    expect(parameters).toEqual({ ...own, number: 5n });
  });

  it("that the server knows do not", async () => {
    const { parameters, answer } = await received({
      priority: 1,
      timeout: 1_000_000,
      binary_data_output: false,
      sequence_id: "a",
      sequence_start: true,
      sequence_end: false,
    });
    expect([answer.status, parameters]).toEqual([200, {}]);
  });

  const OWN_TYPE = "has invalid type. It should be either 'int', 'bool', or 'string'.";
  it.each<[JsonValue, number, string]>([
    [5, 500, "failed to get request params.: attempt to get members for non-object"],
    [
      { triton_enable_empty_final_response: true },
      400,
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
    ],
    [
      { triton_: 1 },
      400,
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
    ],
    [{ list: [1] }, 400, `parameter 'list' ${OWN_TYPE}`],
    [{ object: {} }, 400, `parameter 'object' ${OWN_TYPE}`],
    [{ nothing: null }, 400, `parameter 'nothing' ${OWN_TYPE}`],
    [
      { priority: "high" },
      500,
      "Unable to parse 'priority': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      { priority: -1 },
      500,
      "Unable to parse 'priority': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [
      { timeout: 0.5 },
      500,
      "Unable to parse 'timeout': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ],
    [{ sequence_id: -1 }, 500, "Unable to parse 'sequence_id': attempt to access JSON non-string as string"],
    [{ sequence_id: "x".repeat(129) }, 400, "string correlation ID cannot be longer than 128 bytes"],
    [
      { sequence_start: 1 },
      500,
      "Unable to parse 'sequence_start': attempt to access JSON non-boolean as boolean",
    ],
    [
      { sequence_end: "no" },
      500,
      "Unable to parse 'sequence_end': attempt to access JSON non-boolean as boolean",
    ],
    [
      { binary_data_output: "yes" },
      500,
      "Unable to parse 'binary_data_output': attempt to access JSON non-boolean as boolean",
    ],
  ])("%j are refused", async (parameters, status, error) => {
    const { answer } = await received(parameters);
    expect([answer.status, answer.error]).toEqual([status, error]);
  });

  it("of a response stand before its outputs", async () => {
    const { post } = await createHttpBench({
      models: MODELS,
      load: ["fp32"],
      backend: {
        onExecute: () => ({
          kind: "complete",
          outcomes: [{ kind: "response", outputs: [], parameters: { n: 5n, f: 1, s: "x", b: false } }],
        }),
      },
    });
    const { text } = await post(infer("fp32"), bodyOf("fp32", "[1]", "[1]"));
    expect(text).toBe(
      '{"model_name":"fp32","model_version":"1","parameters":{"n":5,"f":1.0,"s":"x","b":false},"outputs":[]}',
    );
  });
});

describe("classification", () => {
  async function classify(parameters: JsonValue, model = "classes") {
    const { post } = await createHttpBench({ models: MODELS, load: [model] });
    const isClasses = model === "classes";
    return post(infer(model), {
      inputs: [
        isClasses
          ? { name: "IN", datatype: "FP32", shape: [2, 3], data: [0.5, 2, -1, 7, 7, 0] }
          : {
              name: "INPUT0",
              datatype: DATATYPES[model] ?? model.toUpperCase(),
              shape: [1],
              data: [model === "bool" ? true : "x"],
            },
      ],
      outputs: [{ name: isClasses ? "OUT" : "OUTPUT0", parameters }],
    });
  }

  it.each<[number, readonly number[], readonly string[]]>([
    [1, [2, 1], ["2.000000:1:dog", "7.000000:0:cat"]],
    [2, [2, 2], ["2.000000:1:dog", "0.500000:0:cat", "7.000000:0:cat", "7.000000:1:dog"]],
    [
      9,
      [2, 3],
      ["2.000000:1:dog", "0.500000:0:cat", "-1.000000:2", "7.000000:0:cat", "7.000000:1:dog", "0.000000:2"],
    ],
  ])("gives the %d best of each row", async (classification, shape, data) => {
    const { json } = await classify({ classification });
    expect(json).toMatchObject({ outputs: [{ name: "OUT", datatype: "BYTES", shape, data }] });
  });

  it("is the tensor itself for none", async () => {
    expect((await classify({ classification: 0 })).json).toMatchObject({ outputs: [{ datatype: "FP32" }] });
  });

  it("travels in binary", async () => {
    const answer = await classify({ classification: 1, binary_data: true });
    expect(answer.bytes.subarray(-36)).toEqual(encodeBytesElements(["2.000000:1:dog", "7.000000:0:cat"]));
  });

  it.each([
    ["text", "BYTES"],
    ["bool", "BOOL"],
  ])("is not for %s", async (model, datatype) => {
    const answer = await classify({ classification: 1 }, model);
    expect([answer.status, answer.error]).toEqual([
      400,
      `class result not available for output due to unsupported type '${datatype}'`,
    ]);
  });

  it("counts", async () => {
    const answer = await classify({ classification: -1 });
    expect([answer.status, answer.error]).toEqual([
      500,
      "Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer",
    ]);
  });
});
