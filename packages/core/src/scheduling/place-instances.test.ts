import { normalizeInstanceGroups, parseConfigText } from "@naiad/model-config";
import type { Capabilities, GpuAdapter } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { PlacementOptions, PlacementResult } from "./place-instances.ts";
import { gpuContext, placeInstances } from "./place-instances.ts";

const GPU: GpuAdapter = {
  index: 0,
  vendor: "acme",
  architecture: "a1",
  description: "",
  isFallback: false,
  features: [],
  maxBufferSize: 2 ** 28,
  maxStorageBufferBindingSize: 2 ** 28,
  maxStorageBuffersPerShaderStage: 8,
};
const LOW_POWER: GpuAdapter = { ...GPU, index: 1 };
const SOFTWARE: GpuAdapter = { ...GPU, isFallback: true };

const OPTIONS: PlacementOptions = {
  gpuFallback: "cpu",
  allowSoftwareGpu: false,
  foldGpus: false,
  threads: 0,
  verify: "auto",
};

interface Case {
  readonly config: string;
  readonly gpus?: readonly GpuAdapter[];
  readonly options?: Partial<PlacementOptions>;
  readonly capabilities?: Partial<Capabilities>;
  readonly busyThreads?: number;
}

function place({ config, gpus = [], options, capabilities, busyThreads }: Case): PlacementResult {
  const written = parseConfigText(`name: "m" backend: "onnxruntime" max_batch_size: 8 ${config}`, {
    fileName: "config.pbtxt",
  });
  const machine: Capabilities = {
    gpus,
    crossOriginIsolated: false,
    hardwareConcurrency: 8,
    wasmMemoryLimitBytes: 2 ** 32,
    ...capabilities,
  };
  const allOptions = { ...OPTIONS, ...options };
  return placeInstances({
    config: normalizeInstanceGroups(written, gpuContext(machine, allOptions)),
    written,
    capabilities: machine,
    options: allOptions,
    owner: "m:1:7",
    ...(busyThreads === undefined ? {} : { busyThreads }),
  });
}

/** `name @ worker`, with what happens when the GPU refuses. */
function summary(result: PlacementResult): readonly string[] | string {
  if (result.kind === "refused") return result.error;
  return result.instances.map(({ placement, cpuAlternative }) => {
    const fallback = cpuAlternative === undefined ? "" : ` | ${cpuAlternative.workerKey}`;
    return `${placement.instanceName} @ ${placement.workerKey}${fallback}`;
  });
}

describe("placeInstances", () => {
  it.each<[string, Case, readonly string[] | string]>([
    ["runs one instance on the CPU where Triton's default is two", { config: "" }, ["m_0 @ cpu:m:1:7:m_0"]],
    [
      "makes as many CPU instances as the configuration counts",
      { config: "instance_group { kind: KIND_CPU count: 2 }" },
      ["m_0_0 @ cpu:m:1:7:m_0_0", "m_0_1 @ cpu:m:1:7:m_0_1"],
    ],
    [
      "gives a kind without count one instance",
      { config: "instance_group { kind: KIND_CPU }" },
      ["m_0_0 @ cpu:m:1:7:m_0_0"],
    ],
    [
      "keeps KIND_CPU off a GPU",
      { config: "instance_group { kind: KIND_CPU }", gpus: [GPU] },
      ["m_0_0 @ cpu:m:1:7:m_0_0"],
    ],
    [
      "prefers the GPU when nothing is said, and the CPU when that refuses",
      { config: "", gpus: [GPU] },
      ["m_0 @ gpu:0:0 | cpu:m:1:7:m_0"],
    ],
    [
      "uses only the high-performance GPU when nothing is said",
      { config: "", gpus: [GPU, LOW_POWER] },
      ["m_0 @ gpu:0:0 | cpu:m:1:7:m_0"],
    ],
    ["does not take a software adapter for a GPU", { config: "", gpus: [SOFTWARE] }, ["m_0 @ cpu:m:1:7:m_0"]],
    [
      "takes a software adapter where an option says so",
      { config: "", gpus: [SOFTWARE], options: { allowSoftwareGpu: true } },
      ["m_0 @ gpu:0:0 | cpu:m:1:7:m_0"],
    ],
    [
      "counts per GPU and numbers the workers of each",
      { config: "instance_group { kind: KIND_GPU count: 2 gpus: [0, 1] }", gpus: [GPU, LOW_POWER] },
      [
        "m_0_0 @ gpu:0:0 | cpu:m:1:7:m_0_0",
        "m_0_1 @ gpu:1:0 | cpu:m:1:7:m_0_1",
        "m_0_2 @ gpu:0:1 | cpu:m:1:7:m_0_2",
        "m_0_3 @ gpu:1:1 | cpu:m:1:7:m_0_3",
      ],
    ],
    [
      "goes on counting in the next group",
      {
        config:
          'instance_group [{ kind: KIND_GPU count: 1 }, { name: "more" kind: KIND_GPU count: 1 }, { kind: KIND_CPU count: 1 }]',
        gpus: [GPU],
      },
      ["m_0_0 @ gpu:0:0 | cpu:m:1:7:m_0_0", "more_0 @ gpu:0:1 | cpu:m:1:7:more_0", "m_2_0 @ cpu:m:1:7:m_2_0"],
    ],
    [
      "gives a model workers of its own where its configuration says so",
      { config: 'parameters { key: "isolate_worker" value { string_value: "true" } }', gpus: [GPU] },
      ["m_0 @ gpu:0:m:1:7:m_0 | cpu:m:1:7:m_0"],
    ],
    [
      "has no way back for KIND_GPU where an option forbids it",
      { config: "instance_group { kind: KIND_GPU }", gpus: [GPU], options: { gpuFallback: "error" } },
      ["m_0_0 @ gpu:0:0"],
    ],
    [
      "has one for KIND_AUTO even then",
      { config: "instance_group { kind: KIND_AUTO }", gpus: [GPU], options: { gpuFallback: "error" } },
      ["m_0_0 @ gpu:0:0 | cpu:m:1:7:m_0_0"],
    ],
    [
      "moves KIND_GPU to the CPU on a machine without one",
      { config: "instance_group { kind: KIND_GPU count: 2 }" },
      ["m_0_0 @ cpu:m:1:7:m_0_0", "m_0_1 @ cpu:m:1:7:m_0_1"],
    ],
    [
      "refuses KIND_GPU on a machine without one where an option says so",
      { config: "instance_group { kind: KIND_GPU }", options: { gpuFallback: "error" } },
      "instance group m_0 of model m has kind KIND_GPU but no GPUs are available",
    ],
    [
      "refuses a GPU that is not there",
      { config: "instance_group { kind: KIND_GPU gpus: [1] }", gpus: [GPU] },
      "instance group m_0 of model m specifies invalid or unsupported gpu id 1. GPUs with at least the minimum " +
        "required CUDA compute compatibility of 6.000000 are: 0",
    ],
    [
      "folds a GPU that is not there onto the first where an option says so",
      {
        config: "instance_group { kind: KIND_GPU count: 1 gpus: [0, 1] }",
        gpus: [GPU],
        options: { foldGpus: true },
      },
      ["m_0_0 @ gpu:0:0 | cpu:m:1:7:m_0_0", "m_0_1 @ gpu:0:1 | cpu:m:1:7:m_0_1"],
    ],
    [
      "refuses GPUs in a group of kind CPU",
      { config: "instance_group { kind: KIND_CPU gpus: [0] }", gpus: [GPU] },
      "instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs",
    ],
    [
      "leaves passive groups out",
      { config: "instance_group [{ kind: KIND_CPU passive: true }, { kind: KIND_CPU }]" },
      ["m_1_0 @ cpu:m:1:7:m_1_0"],
    ],
    [
      "refuses a model that has only passive groups",
      { config: "instance_group { kind: KIND_CPU passive: true }" },
      "all instance groups of model m are passive, so that no instance would run its requests",
    ],
    [
      "runs KIND_MODEL on the CPU",
      { config: "instance_group { kind: KIND_MODEL }", gpus: [GPU] },
      ["m_0_0 @ cpu:m:1:7:m_0_0"],
    ],
  ])("%s", (_name, input, expected) => {
    expect(summary(place(input))).toEqual(expected);
  });

  it("says in log and note why an instance is not where it was asked for", () => {
    const result = place({ config: "instance_group { kind: KIND_GPU }" });
    expect(result).toMatchObject({
      warnings: [
        "instance group m_0 of model m has kind KIND_GPU but no GPUs are available: it runs on the CPU",
      ],
      instances: [{ placement: { note: "has kind KIND_GPU but no GPUs are available: it runs on the CPU" } }],
    });
    const hint =
      " (there is a software adapter, which option allowSoftwareGpu, or --gpu=software of naiad serve, makes one)";
    const software = place({ config: "instance_group { kind: KIND_GPU }", gpus: [SOFTWARE] });
    expect(software).toMatchObject({
      instances: [
        { placement: { note: `has kind KIND_GPU but no GPUs are available: it runs on the CPU${hint}` } },
      ],
    });
    const refused = place({
      config: "instance_group { kind: KIND_GPU }",
      gpus: [SOFTWARE],
      options: { gpuFallback: "error" },
    });
    expect(summary(refused)).toBe(
      `instance group m_0 of model m has kind KIND_GPU but no GPUs are available${hint}`,
    );
    const folded = place({
      config: "instance_group { kind: KIND_GPU gpus: [1] }",
      gpus: [GPU],
      options: { foldGpus: true },
    });
    expect(folded).toMatchObject({
      warnings: ["instance group m_0 of model m asks for GPU 1, which is not there: it runs on GPU 0"],
      instances: [{ placement: { note: "asks for GPU 1, which is not there: it runs on GPU 0" } }],
    });
  });

  it.each([[[]], [[GPU]]])("warns of an isolate_worker that is no boolean, with the GPUs %j", (gpus) => {
    const config = 'parameters { key: "isolate_worker" value { string_value: "yes" } }';
    expect(place({ config, gpus })).toMatchObject({
      warnings: ["model 'm': parameter 'isolate_worker' is 'yes', neither true nor false: false is used"],
    });
  });

  it("says nothing when everything is where it belongs", () => {
    const result = place({ config: "instance_group { kind: KIND_GPU }", gpus: [GPU] });
    expect(result).toMatchObject({ kind: "placed", warnings: [] });
    expect(result.kind === "placed" && result.instances.some(({ placement }) => "note" in placement)).toBe(
      false,
    );
  });

  it("shares threads among the instances of a model", () => {
    const isolated = { crossOriginIsolated: true, hardwareConcurrency: 8 };
    const two = place({ config: "instance_group { kind: KIND_CPU count: 2 }", capabilities: isolated });
    expect(two).toMatchObject({
      instances: [
        { placement: { device: { kind: "cpu", threads: 3 } } },
        { placement: { device: { kind: "cpu", threads: 3 } } },
      ],
    });
    const busy = place({ config: "", capabilities: isolated, busyThreads: 5 });
    expect(busy).toMatchObject({ instances: [{ placement: { device: { threads: 4 } } }] });
  });

  it("gives each instance what its group needs to have a turn, also where it goes to the CPU", () => {
    const result = place({
      config:
        'instance_group { kind: KIND_GPU rate_limiter { priority: 2 resources { name: "r" global: true count: 3 } } } ' +
        "instance_group { kind: KIND_CPU count: 1 }",
      gpus: [GPU],
    });
    const instances = result.kind === "placed" ? result.instances : [];
    const rateLimit = { priority: 2, resources: [{ name: "r", global: true, count: 3 }] };
    expect(instances.map(({ placement }) => placement.rateLimit)).toEqual([rateLimit, undefined]);
    expect(instances[0]?.cpuAlternative?.rateLimit).toEqual(rateLimit);
  });

  it("does not change the configuration", () => {
    const written = parseConfigText(
      'name: "m" backend: "onnxruntime" instance_group { kind: KIND_GPU gpus: [3] }',
      {
        fileName: "config.pbtxt",
      },
    );
    const before = JSON.stringify(written.instanceGroup);
    for (const gpus of [[], [GPU]]) {
      placeInstances({
        config: written,
        written,
        capabilities: { gpus, crossOriginIsolated: false, hardwareConcurrency: 1, wasmMemoryLimitBytes: 1 },
        options: { ...OPTIONS, foldGpus: true },
        owner: "o",
      });
    }
    expect(JSON.stringify(written.instanceGroup)).toBe(before);
  });
});

describe("verification", () => {
  const parameter = 'parameters { key: "verify" value { string_value: "off" } }';

  it.each<[string, Case, readonly (boolean | undefined)[]]>([
    ["a model without groups", { config: "" }, [true]],
    ["a group of KIND_AUTO", { config: "instance_group { count: 1 }" }, [true]],
    ["a group that demands a GPU", { config: "instance_group { kind: KIND_GPU count: 1 }" }, [undefined]],
    [
      "one that demands it, with verify always",
      { config: "instance_group { kind: KIND_GPU count: 1 }", options: { verify: "always" } },
      [true],
    ],
    ["a model without groups, with verify off", { config: "", options: { verify: "off" } }, [undefined]],
    ["a model that says off itself", { config: parameter, options: { verify: "always" } }, [undefined]],
    [
      "a group on the CPU, with verify always",
      { config: "instance_group { kind: KIND_CPU count: 1 }", options: { verify: "always" } },
      [undefined],
    ],
  ])("of %s", (_, one, expected) => {
    const result = place({ gpus: [GPU], ...one });
    const verified =
      result.kind === "placed" ? result.instances.map(({ placement }) => placement.verify) : [];
    expect(verified).toEqual(expected);
  });
});

describe("gpuContext", () => {
  const machine: Capabilities = {
    gpus: [GPU],
    crossOriginIsolated: false,
    hardwareConcurrency: 8,
    wasmMemoryLimitBytes: 2 ** 32,
  };

  it.each([
    [undefined, "gpu"],
    ["gpu", "gpu"],
    ["cpu", "cpu"],
  ] as const)("lets a model without groups, of a backend that prefers %s, run on %s", (preferred, kind) => {
    const config = parseConfigText(`name: "m" backend: "b"`, { fileName: "config.pbtxt" });
    const normalized = normalizeInstanceGroups(config, gpuContext(machine, OPTIONS, preferred));
    const result = placeInstances({
      config: normalized,
      written: config,
      capabilities: machine,
      options: OPTIONS,
      owner: "o",
    });
    expect(result).toMatchObject({ instances: [{ placement: { device: { kind } } }] });
  });
});
