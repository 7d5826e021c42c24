import { describe, expect, it } from "vitest";
import { parseConfigJson, readConfigJson } from "./json.ts";
import { printConfig } from "./print.ts";
import { parseConfigText } from "./text.ts";

describe("readConfigJson", () => {
  it("takes snake_case and camelCase", () => {
    const expected = { kind: "config", config: { maxBatchSize: 8, input: [{ dataType: 11, dims: [-1n] }] } };
    expect(
      readConfigJson('{"max_batch_size":8,"input":[{"data_type":"TYPE_FP32","dims":[-1]}]}'),
    ).toMatchObject(expected);
    expect(
      readConfigJson('{"maxBatchSize":8,"input":[{"dataType":"TYPE_FP32","dims":["-1"]}]}'),
    ).toMatchObject(expected);
  });

  it("takes names of enum values in any case, in lists and maps too", () => {
    const text = `{"instance_group":[{"kind":"kind_cpu"}],
      "model_warmup":[{"inputs":{"x":{"data_type":"Type_Int8"}}}],
      "optimization":{"priority":"priority_max"}}`;
    expect(readConfigJson(text)).toMatchObject({
      config: {
        instanceGroup: [{ kind: 2 }],
        modelWarmup: [{ inputs: { x: { dataType: 6 } } }],
        optimization: { priority: 1 },
      },
    });
  });

  it("keeps 64-bit integers exact, be they numbers or strings", () => {
    const expected = { config: { input: [{ dims: [9007199254740993n, 9007199254740993n] }] } };
    expect(readConfigJson('{"input":[{"dims":[9007199254740993,"9007199254740993"]}]}')).toMatchObject(
      expected,
    );
  });

  it("reads what printConfig prints", () => {
    const text = `name: "m" max_batch_size: 4 dynamic_batching { priority_levels: 2 priority_queue_policy { key: 1 value {} } }
      instance_group { kind: KIND_GPU secondary_devices { device_id: 3 } }`;
    const printed = printConfig(parseConfigText(text, { fileName: "config.pbtxt" }));
    const again = parseConfigJson(JSON.stringify(printed), { fileName: "config.json" });
    expect(printConfig(again)).toEqual(printed);
  });

  it.each([
    ["no JSON", "{", /./],
    ["no object", "[]", /Array/],
    ["unknown field", '{"nam":1}', /nam/],
    ["wrong type", '{"max_batch_size":"x"}', /max_batch_size/],
    ["unknown enum", '{"input":[{"data_type":"TYPE_X"}]}', /TYPE_X/],
    ["two members of a oneof", '{"dynamic_batching":{},"sequence_batching":{}}', /oneof/],
  ])("refuses %s", (_what, text, reason) => {
    const result = readConfigJson(text);
    expect(result).toMatchObject({ kind: "fault", reason: expect.stringMatching(reason) as string });
  });

  it("names the file", () => {
    expect(() => parseConfigJson('{"nam":1}', { fileName: "m/config.json" })).toThrow(
      /^failed to read JSON from m\/config\.json: /,
    );
  });
});
