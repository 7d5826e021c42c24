import type { MemoryModel } from "@naiad/testing";
import { createMemoryRepository, ECHO_CONFIG, quickDigest } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { ModelFiles } from "../ports.ts";
import { checkRepository } from "./check-repository.ts";
import type { ModelInspector } from "./model-inspector.ts";

/** Takes every configuration as it is, and refuses version 2. */
const fake: ModelInspector = {
  name: "fake",
  inspect: ({ config, version }) =>
    Promise.resolve({
      config,
      isComplete: !("late" in config.parameters),
      issues:
        version === 2 ? [{ code: "INVALID_ARG", message: "it has no head", path: "input[0]" } as const] : [],
      warnings: [],
    }),
};

async function check(
  models: Readonly<Record<string, MemoryModel>>,
  { autoComplete = true } = {},
): Promise<readonly string[]> {
  const repository = createMemoryRepository(models);
  const { signal } = new AbortController();
  const manifest = await repository.manifest(signal);
  const findings = await checkRepository(
    {
      manifest,
      filesOf: ({ name, files }): ModelFiles => ({
        entries: files,
        location: { kind: "memory" },
        read: async (path, range) => {
          const { start, end } = range ?? {
            start: 0,
            end: files.find((file) => file.path === path)?.size ?? 0,
          };
          const pieces = [];
          for await (const piece of repository.read(name, path, { start, end }, signal))
            pieces.push(...piece);
          return Uint8Array.from(pieces);
        },
      }),
    },
    { inspectors: [fake], digest: quickDigest, autoComplete, signal },
  );
  return findings.map(({ severity, modelName, file, position, message, hint }) =>
    [
      [modelName, file, position?.line, position?.column].filter((part) => part !== undefined).join(":"),
      severity,
      message + (hint === undefined ? "" : ` (${hint})`),
    ].join(" "),
  );
}

const fakeModel = (config: string = ECHO_CONFIG): MemoryModel => ({
  "config.pbtxt": config,
  "1/model.fake": "x",
});

function ensemble(...steps: readonly string[]): MemoryModel {
  const config = `platform: "ensemble"
max_batch_size: 4
input { name: "x" data_type: TYPE_INT32 dims: 1 }
output { name: "y" data_type: TYPE_INT32 dims: 1 }
ensemble_scheduling {
${steps.join("\n")}
}`;
  return { "config.pbtxt": config, "1/": "" };
}

function step(model: string, version = -1): string {
  return `step { model_name: "${model}" model_version: ${version} input_map { key: "x" value: "x" } output_map { key: "y" value: "y" } }`;
}

describe("checkRepository", () => {
  it("has nothing to say about what can be served", async () => {
    expect(await check({ m: fakeModel(), e: ensemble(step("m")) })).toEqual([]);
  });

  it("tells what is wrong with a text as often as something is", async () => {
    expect(await check({ m: fakeModel("max_batchsize: 1\nname: 2") })).toEqual([
      'm:config.pbtxt:1:1 error failed to read text proto: message ModelConfig has no field "max_batchsize" (did you mean "max_batch_size"?)',
      'm:config.pbtxt:2:7 error failed to read text proto: expected a string, found "2"',
    ]);
    expect(await check({ m: { "config.json": "{", "1/model.fake": "" } })).toEqual([
      expect.stringMatching(/^m:config.json error failed to read JSON: /),
    ]);
  });

  it("tells all issues in the order of their places, once for all versions that have them", async () => {
    const config = `version_policy { all {} } ${ECHO_CONFIG}\nname: "n"\nmodel_warmup { name: "w" }`;
    const found = await check({ m: { ...fakeModel(config), "2/model.fake": "", "03/": "" } });
    expect(found).toEqual([
      "m warning ignore version directory '03' which contains leading zeros in its directory name",
      expect.stringMatching(/^m:config.pbtxt:\d+:\d+ error version 2: it has no head$/),
      expect.stringContaining("error unexpected directory name 'm' for model 'n'"),
    ]);
  });

  it("says what versions and files are missing, and what was probably meant", async () => {
    const labelled = ECHO_CONFIG.replace("output {", 'output { label_filename: "lable.txt"');
    expect(
      await check({
        m: { ...fakeModel(`${labelled}\nversion_policy { specific { versions: [1, 9] } }`), "label.txt": "" },
        n: { "config.pbtxt": 'backend: "fake"', "model.fake": "" },
      }),
    ).toEqual([
      expect.stringMatching(/lable.txt: No such file or directory \(did you mean 'label.txt'\?\)$/),
      expect.stringContaining("version 9 is specified for model 'm'"),
      "n:config.pbtxt error at least one version must be available under the version policy of model 'n' " +
        "(the directory of model 'n' has no version directory: put 'model.fake' into '1/')",
    ]);
  });

  it("advises on platforms that no browser has, and where nothing tells the backend", async () => {
    const found = await check({
      plan: { "config.pbtxt": '\nplatform: "tensorrt_plan"', "1/model.plan": "" },
      what: { "1/x": "" },
    });
    expect(found).toEqual([
      expect.stringMatching(/^plan:config.pbtxt:2:1 error .*use the ONNX model that it was built from$/),
      expect.stringMatching(/^what error Invalid model name: /),
    ]);
  });

  it("wants a configuration where none is completed", async () => {
    expect(await check({ m: { "1/model.fake": "" } }, { autoComplete: false })).toEqual([
      expect.stringMatching(/^m error failed to open text file for read m\/config.pbtxt/),
    ]);
  });

  it("reads the configurations of configs/ too, and names one that is not read", async () => {
    const found = await check({
      m: { ...fakeModel(), "config.json": "{}", "configs/other.pbtxt": 'backend: "fake" max_batch_size: -1' },
    });
    expect(found).toEqual([
      "m warning 'config.json' is not read where there is a config.pbtxt",
      "m:configs/other.pbtxt:1:17 error 'max_batch_size' must be non-negative value for m",
    ]);
  });

  it("runs the agents of a repository", async () => {
    const agents = `model_repository_agents { agents { name: "checksum" parameters { key: "MD5:1/model.fake" value: "0" } } agents { name: "x" } }`;
    expect(await check({ m: fakeModel(`${ECHO_CONFIG}\n${agents}`) })).toEqual([
      expect.stringContaining("error Mismatched MD5 hash for file 1/model.fake"),
      expect.stringContaining("error unable to find 'libtritonrepoagent_x.so'"),
    ]);
  });

  it("tries warm-up requests and initial states", async () => {
    const warmUp = `model_warmup { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_INT32 dims: 4 input_data_file: "none" } } }`;
    expect(await check({ m: fakeModel(`${ECHO_CONFIG}\n${warmUp}`) })).toEqual([
      expect.stringContaining("failed to open text file for read m/warmup/none"),
    ]);
  });

  it("takes a machine with one GPU for granted", async () => {
    expect(
      await check({ m: fakeModel(`${ECHO_CONFIG}\ninstance_group { kind: KIND_GPU gpus: 1 }`) }),
    ).toEqual([
      expect.stringContaining(
        "warning on a machine with one GPU: instance group m_0 of model m specifies invalid",
      ),
    ]);
  });

  it("leaves to a model what it completes itself", async () => {
    const late = 'backend: "fake" parameters { key: "late" value { string_value: "" } }';
    expect(await check({ m: fakeModel(late), e: ensemble(step("m")) })).toEqual([]);
  });
});

describe("checkRepository, of ensembles", () => {
  it("names models and versions that are missing", async () => {
    expect(await check({ model: fakeModel(), e: ensemble(step("modle"), step("model", 5)) })).toEqual([
      expect.stringMatching(
        /^e:config.pbtxt:6:6 error .*not available or ambiguous: modle \(did you mean "model"\?\)/,
      ),
      expect.stringMatching(/^e:config.pbtxt:7:6 error .*required version 5 is not loaded/),
      expect.stringContaining("error ensemble tensor 'y' can appear in an output map only once"),
    ]);
  });

  it("says how to ask for the latest version, where a step says nothing of one", async () => {
    const silent = step("model").replace(/model_version: -?\d+ ?/, "");
    expect(await check({ model: fakeModel(), e: ensemble(silent) })).toEqual([
      expect.stringMatching(
        /required version 0 is not loaded\. \(its version policy serves 1; write `model_version: -1` for the latest\)/,
      ),
    ]);
  });

  it("holds tensors against those of the models", async () => {
    const other = ECHO_CONFIG.replaceAll("[1]", "[5]").replace("TYPE_INT32", "TYPE_FP32");
    const found = await check({ m: fakeModel(other), e: ensemble(step("m")) });
    expect(found).not.toEqual([]);
    for (const finding of found)
      expect(finding).toContain("e:config.pbtxt:6:6 error in ensemble e, ensemble tensor");
  });

  it("follows from model to ensemble to ensemble", async () => {
    const found = await check({
      a: ensemble(step("b")),
      b: ensemble(step("m")),
      m: fakeModel("max_batch: 1"),
    });
    expect(found).toEqual([
      expect.stringContaining(
        "error ensemble 'a' depends on 'b' which has no loaded version. (see the errors of 'b')",
      ),
      expect.stringContaining(
        "error ensemble 'b' depends on 'm' which has no loaded version. (see the errors of 'm')",
      ),
      expect.stringContaining('has no field "max_batch"'),
    ]);
  });

  it("ends on circles", async () => {
    const found = await check({ a: ensemble(step("b")), b: ensemble(step("c")), c: ensemble(step("b")) });
    expect(found.join("\n")).toContain("circular dependency between ensembles: b -> ... -> c -> b");
    expect(found.join("\n")).toContain("ensemble 'a' depends on 'b'");
  });
});
