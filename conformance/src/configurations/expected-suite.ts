import type { Capabilities, GpuAdapter } from "@naiad/core";
import { parseConfigJson, parseConfigText, printConfig } from "@naiad/model-config";
import { createBrowserClock } from "@naiad/runtime/in-process";
import { createFakeBackend, createMemoryRepository } from "@naiad/testing";
import type { MemoryModel } from "@naiad/testing";
import { ElementType, node, onnxModel, value } from "@naiad/testing/fixture-models";
import type { Value } from "@naiad/testing/fixture-models";
import { errorOf, send, textOf } from "../http-client.ts";
import { digest, NO_GPU, startInProcessServer } from "../in-process-server.ts";
import type { SuiteReport } from "../report.ts";
import { createTally } from "../report.ts";
import type { ConfigCase, ConfigCorpus } from "./config-corpus.ts";
import { runIdleInstanceWorker } from "./idle-instance-worker.ts";

/** Groups whose models only another backend can look into. */
const OTHER_BACKENDS = new Set(["tensorrt", "python", "openvino", "pytorch"]);

/** What a tritonserver 2.51 without GPUs said to a case that was written for a machine with one. */
const WITHOUT_GPU: ReadonlyMap<string, string> = new Map([
  [
    "noautofill_platform/negative_gpu",
    "instance group negative_gpu_0 of model negative_gpu has kind KIND_CPU but specifies one or more GPUs",
  ],
]);

/** Models that Triton's script takes from elsewhere. */
const BORROWED_MODELS: ReadonlyMap<string, () => Uint8Array> = new Map([
  ["autofill_noplatform_success/onnx/cpu_instance", halfPrecisionIdentity],
]);

const GPU_0: GpuAdapter = {
  index: 0,
  vendor: "fake",
  architecture: "",
  description: "a GPU that only placement sees",
  isFallback: false,
  features: ["shader-f16"],
  maxBufferSize: 2 ** 31,
  maxStorageBufferBindingSize: 2 ** 31,
  maxStorageBuffersPerShaderStage: 10,
};

const MACHINES: readonly { readonly name: string; readonly capabilities: Capabilities }[] = [
  { name: "GPU 0", capabilities: { ...NO_GPU, gpus: [GPU_0] } },
  { name: "no GPU", capabilities: NO_GPU },
];

/**
 * The model directories of L0_model_config, loaded through the lifecycle on a machine with one GPU and on one without:
 * the log, which is what Triton's test reads, or the configuration that comes of it is one that the test accepts.
 */
export async function runExpectedSuite({ cases }: ConfigCorpus): Promise<SuiteReport> {
  const tally = createTally();
  const listed = cases.filter(({ isListed }) => isListed);
  const alternatives = listed.reduce((sum, configCase) => sum + configCase.alternatives.length, 0);
  tally.remark(
    `${alternatives} alternatives for ${listed.length} configurations; ${cases.length - listed.length} more beside their models`,
  );
  for (const configCase of cases) {
    if (OTHER_BACKENDS.has(configCase.group)) {
      tally.leaveOut("needs a model of another backend", configCase.name);
      continue;
    }
    const problem = await problemOf(configCase);
    if (problem === undefined) tally.pass();
    else tally.fail(configCase.name, problem);
  }
  return tally.report();
}

async function problemOf(configCase: ConfigCase): Promise<string | undefined> {
  for (const { name, capabilities } of MACHINES) {
    for (const variant of variantsOf(configCase)) {
      const problem = await variantProblem(forMachine(variant, configCase, capabilities), capabilities);
      if (problem !== undefined) return `${variant.label}, ${name}: ${problem}`;
    }
  }
  return undefined;
}

/** One model directory as Triton's script makes it of a case. */
interface Variant {
  readonly label: string;
  readonly modelName: string;
  readonly model: MemoryModel;
  readonly directories: readonly string[];
  /** Configurations of the models beside it, by name. */
  readonly companions: ReadonlyMap<string, string>;
  readonly autoComplete: boolean;
  readonly alternatives: readonly string[];
  readonly succeeds: boolean;
}

function variantsOf(configCase: ConfigCase): readonly Variant[] {
  const { kind, modelName, config, companions, alternatives } = configCase;
  const onnx = configCase.onnx ?? BORROWED_MODELS.get(configCase.name)?.();
  const all = alternatives.map(({ text }) => text);
  const notForEnsembles = alternatives.filter((one) => !one.isForEnsemble).map(({ text }) => text);
  const variant = (label: string, text: string | undefined, expected: readonly string[]): Variant => ({
    label,
    modelName,
    model: {
      ...(text === undefined ? {} : { "config.pbtxt": text }),
      ...(onnx === undefined ? {} : { "1/model.onnx": onnx }),
    },
    directories: modelName === "no_version" ? [] : ["1"],
    companions,
    autoComplete: kind !== "noautofill_platform",
    alternatives: expected,
    succeeds: kind === "autofill_noplatform_success",
  });
  if (kind !== "noautofill_platform") return [variant("as it is", config, all)];
  // The script tries the same configuration for a backend and as an ensemble, which may fail for the same reason.
  const withPlatform = (platform: string): string =>
    `${(config ?? "").replace(/^platform:.*$/m, "")}\nplatform: "${platform}"\n`;
  const forOnnx = variant("for ONNX Runtime", withPlatform("onnxruntime_onnx"), notForEnsembles);
  if (notForEnsembles.length === all.length) return [forOnnx];
  return [forOnnx, variant("as an ensemble", withPlatform("ensemble"), all)];
}

/**
 * The expectations are those of a machine with one GPU. Without it Triton fills in its default for CPUs: two instances
 * for ONNX Runtime, one for other backends.
 */
function forMachine(variant: Variant, { name, group }: ConfigCase, { gpus }: Capabilities): Variant {
  if (gpus.length > 0) return variant;
  const onCpu = `kind: KIND_CPU count: ${group === "onnx" ? "2" : "1"}`;
  const said = WITHOUT_GPU.get(name);
  return {
    ...variant,
    alternatives: [
      ...variant.alternatives.map((text) =>
        text
          .replace(/count: 1\s+gpus: 0\s+kind: KIND_GPU/, onCpu)
          .replace(/kind: KIND_GPU\s+count: 1\s+gpus: 0/, onCpu),
      ),
      ...(said === undefined ? [] : [said]),
    ],
  };
}

function halfPrecisionIdentity(): Uint8Array {
  const half = (name: string): Value => value(name, ElementType.FLOAT16, ["batch", "rows", "columns"]);
  return onnxModel({
    name: "identity",
    input: [half("INPUT0")],
    output: [half("OUTPUT0")],
    node: [node("Identity", ["INPUT0"], ["OUTPUT0"])],
  });
}

async function variantProblem(variant: Variant, capabilities: Capabilities): Promise<string | undefined> {
  const { modelName, model, directories, companions, alternatives, succeeds } = variant;
  const source = createMemoryRepository({}, { digest });
  source.put(modelName, model, { directories });
  for (const [name, text] of companions) source.put(name, { "config.pbtxt": text, "1/": "" });
  const server = await startInProcessServer({
    source,
    capabilities,
    options: { gpuFallback: "error", disableAutoCompleteConfig: !variant.autoComplete },
    backends: [createFakeBackend({ clock: createBrowserClock(), name: "identity" })],
    work: runIdleInstanceWorker,
  });
  try {
    const loaded = await send(server.handle, "POST", `/v2/repository/models/${modelName}/load`);
    if (!succeeds) {
      if (loaded.status === 200) return "was loaded";
      const said = [errorOf(loaded), ...server.log].join("\n");
      return alternatives.some((text) => grepPattern(text).test(said)) ? undefined : errorOf(loaded);
    }
    if (loaded.status !== 200) return errorOf(loaded);
    const answer = textOf(await send(server.handle, "GET", `/v2/models/${modelName}/config`));
    const config = comparable(printConfig(parseConfigJson(answer, { fileName: "config" })));
    const accepted = alternatives.map((text) =>
      comparable(printConfig(parseConfigText(text, { fileName: "expected" }))),
    );
    return accepted.includes(config) ? undefined : `became ${config}`;
  } finally {
    await server.stop();
  }
}

/** The expected texts are patterns for grep: brackets other than `[` mean themselves there. */
function grepPattern(text: string): RegExp {
  return new RegExp(text.trim().replace(/[()+?{}|]/g, "\\$&"));
}

function comparable(config: unknown): string {
  return JSON.stringify(config, (_key, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
}
