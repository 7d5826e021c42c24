import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { InstanceGroupContext, ModelConfig } from "./index.ts";
import {
  assertNoIssues,
  autoCompleteOnnx,
  byteSourceOf,
  checkOnnxModel,
  completeBackend,
  ModelConfigSchema,
  normalizeConfig,
  normalizeInstanceGroups,
  parseConfigText,
  printConfig,
  readConfigText,
  readOnnxModel,
  validateConfig,
} from "./index.ts";
import { findTextFault } from "./text-position.ts";

// Triton's own configurations with what protobuf reads in them (`golden`) and what Triton says to them (`expected`), and
// small models. The folder is not part of the repository.
const folder = process.env["NAIAD_TEST_DATA"];
const note = folder === undefined ? " (left out: NAIAD_TEST_DATA names no folder with model-configs/)" : "";
const corpus = join(folder ?? "", "model-configs");
const filesIn = (path: string): readonly string[] =>
  folder === undefined ? [] : readdirSync(join(corpus, path));
const read = (...path: readonly string[]): string => readFileSync(join(...path), "utf8");

describe.skipIf(folder === undefined)(`texts of Triton's repositories${note}`, () => {
  const names = filesIn("pbtxt");

  it("are read as protobuf reads them", () => {
    expect(names.length).toBe(337);
    for (const name of names) {
      const golden: unknown = JSON.parse(read(corpus, "golden", `${name}.json`));
      const config = printConfig(parseConfigText(read(corpus, "pbtxt", name), { fileName: name }));
      expect({ name, config: roundIntegers(config) }).toEqual({ name, config: golden });
    }
  });

  it("with one damaged byte are read or refused at a line and column", () => {
    const random = seededRandom(20261129);
    let refused = 0;
    for (const name of names) {
      const original = readFileSync(join(corpus, "pbtxt", name));
      for (let round = 0; round < 10 && original.length > 0; round += 1) {
        const bytes = Buffer.from(original);
        bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
        const damaged = bytes.toString("utf8");
        const result = readConfigText(damaged);
        const isReadable = findTextFault(ModelConfigSchema, damaged) === undefined;
        expect({ name, damaged, isReadable }).toEqual({
          name,
          damaged,
          isReadable: result.kind === "config",
        });
        if (result.kind === "config") continue;
        refused += 1;
        const { line, column } = result.fault;
        const length = damaged.split("\n")[line - 1]?.length ?? -1;
        expect(column).toBeGreaterThanOrEqual(1);
        expect(column).toBeLessThanOrEqual(length + 1);
      }
    }
    expect(refused).toBeGreaterThan(700);
  });
});

/** A server with one GPU, as Triton's tests assume, and backends without preferences. */
const ONE_GPU: InstanceGroupContext = {
  gpus: { kind: "supported", ids: [0] },
  preferredGroups: [],
  minComputeCapability: 6,
};

interface LoadCase {
  readonly directoryName: string;
  readonly text: string;
  readonly fileName: string | undefined;
  readonly autoComplete: boolean;
  readonly onnx?: Uint8Array;
}

/** Poll and load as far as they are pure. */
async function load({ directoryName, text, fileName, autoComplete, onnx }: LoadCase): Promise<ModelConfig> {
  const directory = {
    name: directoryName,
    directories: ["1"],
    filePaths: fileName === undefined ? [] : [`1/${fileName}`],
  };
  const polled = normalizeConfig(
    completeBackend(parseConfigText(text, { fileName: "config.pbtxt" }), directory),
  );
  assertNoIssues(validateConfig(polled, { stage: "poll", directoryName, autoComplete }));
  const grouped = normalizeInstanceGroups(polled, ONE_GPU);
  const model = onnx === undefined ? undefined : await readOnnxModel(byteSourceOf(onnx));
  const config = model === undefined ? grouped : normalizeConfig(autoCompleteOnnx(grouped, model));
  assertNoIssues(validateConfig(config, { stage: "load", instanceGroups: ONE_GPU }));
  if (model !== undefined) assertNoIssues(checkOnnxModel(config, model));
  return config;
}

async function failureOf(loadCase: LoadCase): Promise<string> {
  try {
    await load(loadCase);
    return "(loaded)";
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}

const MODEL_FILES: Readonly<Record<string, string>> = {
  python: "model.py",
  pytorch: "model.pt",
};

/** Names of the cases of one kind with their expected files; `L0_model_config__<kind>__<group>__<case>__expected`. */
function casesOf(kind: string): ReadonlyMap<string, readonly string[]> {
  const cases = new Map<string, string[]>();
  for (const file of filesIn("expected")) {
    const [, path, expected] = new RegExp(`L0_model_config__${kind}__(.*)__(expected.*)$`).exec(file) ?? [];
    if (path === undefined || expected === undefined) continue;
    cases.set(path, [...(cases.get(path) ?? []), file]);
  }
  return cases;
}

function configText(kind: string, path: string): string {
  const file = filesIn("pbtxt").find((name) =>
    name.endsWith(`L0_model_config__${kind}__${path}__config.pbtxt`),
  );
  return file === undefined ? "" : read(corpus, "pbtxt", file);
}

function expectedText(file: string): string {
  return read(corpus, "expected", file);
}

function printed(config: ModelConfig): string {
  return JSON.stringify(printConfig(config));
}

/** An expected configuration, without what an ensemble computes from its models. */
function comparable(text: string): string {
  const config = parseConfigText(text, { fileName: "expected" });
  if (config.platform === "ensemble") delete config.modelTransactionPolicy;
  return printed(config);
}

describe.skipIf(folder === undefined)(`what Triton's tests expect${note}`, () => {
  it("is what wrong configurations without auto-complete are refused with", async () => {
    const cases = casesOf("noautofill_platform");
    expect(cases.size).toBe(44);
    for (const [directoryName, expected] of cases) {
      // As Triton's script does it: the same configuration once for a backend and once as an ensemble.
      for (const platform of ["onnxruntime_onnx", "tensorrt_plan", "ensemble"]) {
        if (platform === "ensemble" && !expected.some((file) => file.endsWith("_ensemble"))) continue;
        const text = `${configText("noautofill_platform", directoryName).replace(/^platform:.*$/m, "")}\nplatform: "${platform}"`;
        const failure = await failureOf({ directoryName, text, fileName: undefined, autoComplete: false });
        expect({ directoryName, platform, failure }).toEqual({
          directoryName,
          platform,
          failure: oneOf(expected.map(expectedText)),
        });
      }
    }
  });

  it("is what wrong configurations with auto-complete are refused with", async () => {
    // The rest needs another backend's look at its model file, or the list of backends.
    const isReachable = (path: string): boolean =>
      /^(?:common|ensemble)__/.test(path) || path === "custom__no_delimiter";
    const cases = [...casesOf("autofill_noplatform")].filter(([path]) => isReachable(path));
    expect(cases.length).toBe(16);
    for (const [path, expected] of cases) {
      const [group = "", directoryName = ""] = path.split("__");
      const failure = await failureOf({
        directoryName,
        text: configText("autofill_noplatform", path),
        fileName: MODEL_FILES[group],
        autoComplete: true,
      });
      expect({ path, failure }).toEqual({ path, failure: oneOf(expected.map(expectedText)) });
    }
  });

  it("is what configurations become", async () => {
    // The rest needs another backend's look at its model file.
    const isReachable = (path: string): boolean =>
      /^(?:custom|ensemble)__/.test(path) ||
      ["pytorch__no_name_platform", "python__dynamic_batching_no_op"].includes(path);
    const cases = [...casesOf("autofill_noplatform_success")].filter(([path]) => isReachable(path));
    expect(cases.length).toBe(7);
    for (const [path, expected] of cases) {
      const [group = ""] = path.split("__");
      const config = await load({
        directoryName: path.split("__").at(-1) ?? "",
        text: configText("autofill_noplatform_success", path),
        fileName: MODEL_FILES[group],
        autoComplete: true,
      });
      expect(expected.map((file) => comparable(expectedText(file)))).toContain(printed(config));
    }
  });

  it("is what ONNX models without a configuration become or are refused with", async () => {
    const cases = readdirSync(join(folder ?? "", "autocomplete"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith("expected"))
      .map((path) => join(folder ?? "", "autocomplete", path, ".."));
    expect(cases.length).toBe(11);
    for (const directory of cases) {
      const names = readdirSync(directory);
      const texts = names.filter((name) => name.startsWith("expected")).map((name) => read(directory, name));
      const loadCase: LoadCase = {
        directoryName: basename(directory),
        text: names.includes("config.pbtxt") ? read(directory, "config.pbtxt") : "",
        fileName: "model.onnx",
        autoComplete: true,
        ...(names.includes("1") ? { onnx: readFileSync(join(directory, "1", "model.onnx")) } : {}),
      };
      if (directory.includes("_success"))
        expect(texts.map(comparable)).toContain(printed(await load(loadCase)));
      else expect(await failureOf(loadCase)).toEqual(oneOf(texts));
    }
  });

  it("names a platform that its backend does not have", async () => {
    const failure = await failureOf({
      directoryName: "invalid_platform",
      text: configText("special_cases", "invalid_platform"),
      fileName: undefined,
      autoComplete: true,
    });
    expect(failure).toBe("unexpected 'platform' and 'backend' pair, got:onnxruntim, onnxruntime");
  });
});

/** Matches any of the expected texts, which are patterns for grep: brackets other than `[` mean themselves there. */
function oneOf(texts: readonly string[]): unknown {
  return expect.stringMatching(
    new RegExp(texts.map((pattern) => `(?:${pattern.trim().replace(/[()+?{}|]/g, "\\$&")})`).join("|")),
  );
}

describe.skipIf(folder === undefined)(`models${note}`, () => {
  const model = (name: string) =>
    readOnnxModel(byteSourceOf(readFileSync(join(folder ?? "", "models", name))));
  const tensor = (name: string, elementType: number, ...shape: readonly (number | string | undefined)[]) => ({
    name,
    type: { kind: "tensor", elementType, shape },
  });

  it("are read with symbolic, fixed and scalar shapes", async () => {
    expect(await model("mnist.onnx")).toMatchObject({
      inputs: [tensor("Input3", 1, 1, 1, 28, 28)],
      outputs: [tensor("Plus214_Output_0", 1, 1, 10)],
      externalFiles: [],
    });
    expect(await model("stories260K/stories260K_stacked.onnx")).toMatchObject({
      inputs: [tensor("input_ids", 7, "batch", "seq"), tensor("past", 1, 10, "batch", 4, "past_len", 8)],
      outputs: [
        tensor("logits", 1, "batch", "seq", 512),
        tensor("present", 1, 10, "batch", 4, "total_len", 8),
      ],
    });
    expect((await model("mobilenet_v2_1.0_224_quant.onnx")).inputs).toEqual([
      tensor("image", 2, "N", 224, 224, 3),
    ]);
    expect((await model("afinn_sentiment.onnx")).inputs).toEqual([tensor("text", 8, "N")]);
  });

  it("are read without their weights", async () => {
    const bytes = readFileSync(join(folder ?? "", "models", "mobilenet_v2_1.0_224_quant.onnx"));
    let bytesRead = 0;
    await readOnnxModel({
      size: bytes.byteLength,
      read: (offset, length) => {
        bytesRead += length;
        return Promise.resolve(bytes.subarray(offset, offset + length));
      },
    });
    expect(bytesRead).toBeLessThan(bytes.byteLength / 2);
  });
});

/** `JSON.parse` rounds integers beyond 2^53 in the golden files; ours are exact. */
function roundIntegers(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? Number(item) : item)),
  );
}

function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
