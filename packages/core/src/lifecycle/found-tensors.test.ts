import { parseConfigText } from "@naiad/model-config";
import { createServerBench } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { foundTensors } from "./found-tensors.ts";

const INPUTS = `
  input { name: "IDS" data_type: TYPE_INT64 dims: [ -1 ] reshape { shape: [ -1, 1 ] } }
  input { name: "TEXT" data_type: TYPE_STRING dims: [ 1, 4 ] }`;
const OUTPUTS = 'output { name: "OUT" data_type: TYPE_BF16 dims: [ 2 ] }';
const config = (text: string) => parseConfigText(`name: "m" ${text}`, { fileName: "config.pbtxt" });

describe("what the log says of a model that is configured without inputs or outputs", () => {
  it("is their names, types and shapes, as requests have them", () => {
    expect(foundTensors(config(""), config(INPUTS + OUTPUTS))).toBe(
      "auto-completed configuration of 'm': inputs IDS INT64 [-1], TEXT BYTES [1,4]; outputs OUT BF16 [2]",
    );
    const batched = config(`max_batch_size: 8 ${INPUTS} ${OUTPUTS}`);
    expect(foundTensors(config(INPUTS), batched)).toBe(
      "auto-completed configuration of 'm': outputs OUT BF16 [-1,2]",
    );
    expect(foundTensors(config(OUTPUTS), batched)).toBe(
      "auto-completed configuration of 'm': inputs IDS INT64 [-1,-1], TEXT BYTES [-1,1,4]",
    );
  });

  it("is nothing where they are written, or there are none", () => {
    expect(foundTensors(config(INPUTS + OUTPUTS), config(INPUTS + OUTPUTS))).toBeUndefined();
    expect(foundTensors(config(""), config(""))).toBeUndefined();
  });

  it("stands between the lines of its load", async () => {
    const models = { m: { "config.pbtxt": 'backend: "fake"', "1/model.fake": "" } };
    const bench = createServerBench({
      models,
      prepare: ({ config: given }) => Promise.resolve({ ...given, ...parts(INPUTS + OUTPUTS) }),
    });
    await bench.start();
    await bench.load("m");
    expect(bench.logger.lines.map(({ message }) => message)).toEqual([
      "loading: m:1",
      "auto-completed configuration of 'm': inputs IDS INT64 [-1], TEXT BYTES [1,4]; outputs OUT BF16 [2]",
      "instance m_0 of model m runs on other (build fake), 1 thread",
      "successfully loaded 'm'",
    ]);
  });
});

function parts(text: string) {
  const { input, output } = config(text);
  return { input, output };
}
