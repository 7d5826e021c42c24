import { parseConfigText } from "@naiad/model-config";
import type { MemoryModel, ServerBench } from "@naiad/testing";
import { createServerBench, ECHO_CONFIG } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { versionFiles } from "./version-files.ts";

function labelled(path: string): string {
  return ECHO_CONFIG.replace("output {", `output { label_filename: "${path}"`);
}

function warmedUp(path: string): string {
  const input = `inputs { key: "x" value { data_type: TYPE_INT32 dims: 1 input_data_file: "${path}" } }`;
  return `${ECHO_CONFIG} model_warmup { name: "s" batch_size: 1 ${input} }`;
}

function stateful(path: string): string {
  const initial = `initial_state { name: "i" data_type: TYPE_INT32 dims: 1 data_file: "${path}" }`;
  const state = `state { input_name: "s" output_name: "t" data_type: TYPE_INT32 dims: 1 ${initial} }`;
  return `${ECHO_CONFIG} sequence_batching { ${state} }`;
}

async function benchOf(config: string, files: MemoryModel): Promise<ServerBench> {
  const bench = createServerBench({
    models: { m: { "config.pbtxt": config, "1/model.fake": "1", "3/model.fake": "3", ...files } },
  });
  await bench.start();
  return bench;
}

const INT32 = Uint8Array.of(7, 0, 0, 0);

describe("a path in a configuration", () => {
  it.each([
    ["labels", labelled("./l.txt"), { "l.txt": "a" }],
    ["labels beside the versions", labelled("1/../sub/./l.txt"), { "sub/l.txt": "a" }],
    ["labels with a slash in front", labelled("/l.txt"), { "l.txt": "a" }],
    ["labels of the version", labelled("1/../3/l.txt"), { "3/l.txt": "a" }],
    ["labels of another version", labelled("1/l.txt"), { "1/l.txt": "a" }],
    ["labels among the configurations", labelled("configs/l.txt"), { "configs/l.txt": "a" }],
    ["warm-up data", warmedUp("./a/../w"), { "warmup/w": INT32 }],
    ["warm-up data of another version", warmedUp("../1/w"), { "1/w": INT32 }],
    ["initial states", stateful("./s"), { "initial_state/s": INT32 }],
    ["initial states of another version", stateful("../1/s"), { "1/s": INT32 }],
  ])("is worked out as Triton's joined paths are: %s", async (_what, config, files) => {
    const bench = await benchOf(config, files);
    await bench.load("m");
    expect(await bench.index()).toContain("m:3 READY");
  });

  it.each([
    [
      "labels",
      labelled("../n/l.txt"),
      "label file path 'm/../n/l.txt' for output 'y' in model 'm' is outside model directory",
    ],
    [
      "warm-up data",
      warmedUp("../../n/w"),
      "failed to open text file for read m/warmup/../../n/w: it is outside of the model's directory",
    ],
    [
      "initial states",
      stateful("../../n/s"),
      "failed to open text file for read m/initial_state/../../n/s: it is outside of the model's directory",
    ],
  ])("never leads out of the model's directory: %s", async (_what, config, text) => {
    const bench = await benchOf(config, {});
    await expect(bench.load("m")).rejects.toThrow(text);
  });
});

describe("versionFiles", () => {
  it("leaves other versions and configurations out unless the configuration names a file of theirs", () => {
    const paths = ["config.pbtxt", "l.txt", "1/m", "1/l.txt", "3/m", "warmup/w", "configs/a.pbtxt"];
    const files = paths.map((path) => ({ path, size: 1, sha256: "", chunks: [] }));
    const model = { name: "m", directories: [], files };
    const of = (config: string): readonly string[] =>
      versionFiles(model, 3, parseConfigText(config, { fileName: "" })).map(({ path }) => path);
    expect(of(ECHO_CONFIG)).toEqual(["l.txt", "3/m", "warmup/w"]);
    expect(of(labelled("1/l.txt"))).toEqual(["l.txt", "1/l.txt", "3/m", "warmup/w"]);
  });
});
