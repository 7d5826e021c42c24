import { parseConfigText } from "@naiad/model-config";
import type { BytesTensor, Capabilities } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { CollectingLogger, FakeAnswer, FakeBackend, FakeCreation, FakeExecution } from "@naiad/testing";
import { createCollectingLogger, createFakeBackend, createFakeClock, quickDigest } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createMemoryFileStore } from "../repository/memory-file-store.ts";
import type { Backend, FileStore, InstancePlacement, InstanceSpec } from "../ports.ts";
import { createVerifiedBackend } from "./verified-backend.ts";

const CAPABILITIES: Capabilities = {
  gpus: [
    {
      index: 0,
      vendor: "acme",
      architecture: "a1",
      description: "",
      isFallback: false,
      features: [],
      maxBufferSize: 2 ** 28,
      maxStorageBufferBindingSize: 2 ** 28,
      maxStorageBuffersPerShaderStage: 8,
    },
  ],
  crossOriginIsolated: true,
  hardwareConcurrency: 3,
  wasmMemoryLimitBytes: 2 ** 32,
};

const CONFIG = `name: "m" max_batch_size: 8
  input { name: "X" data_type: TYPE_FP32 dims: 2 }
  output { name: "Y" data_type: TYPE_FP32 dims: 2 }`;

const ON_GPU: InstancePlacement = {
  instanceName: "m_0",
  device: { kind: "gpu", adapter: 0 },
  workerKey: "gpu:0:0",
};

interface Device {
  readonly answer?: (execution: FakeExecution) => FakeAnswer;
  readonly creation?: FakeCreation;
}

interface Scene {
  readonly backend: Backend;
  readonly inner: FakeBackend;
  readonly logger: CollectingLogger;
  readonly placements: readonly InstancePlacement[];
  /** `ok`, or the error's code and message. */
  readonly create: (spec?: Partial<InstancePlacement> & { readonly config?: string }) => Promise<string>;
}

/** Devices echo their inputs unless told otherwise. */
function scene(
  devices: { readonly gpu?: Device; readonly cpu?: Device } = {},
  options: { readonly store?: FileStore; readonly engine?: string } = {},
): Scene {
  const placements: InstancePlacement[] = [];
  const deviceOf = (instanceName: string): Device =>
    (instanceName.endsWith(" for comparison") ? devices.cpu : devices.gpu) ?? {};
  const inner = createFakeBackend({
    clock: createFakeClock(),
    onExecute: (execution) => deviceOf(execution.instanceName).answer?.(execution) ?? { kind: "complete" },
    onCreate: (placement) => {
      placements.push(placement);
      return deviceOf(placement.instanceName).creation ?? { kind: "create" };
    },
  });
  const logger = createCollectingLogger();
  const backend = createVerifiedBackend(inner, {
    store: options.store ?? createMemoryFileStore(),
    digest: quickDigest,
    capabilities: CAPABILITIES,
    engine: options.engine ?? "engine 1",
    logger,
  });
  return {
    backend,
    inner,
    logger,
    placements,
    create: async ({ config = CONFIG, ...placement } = {}) => {
      const spec: InstanceSpec = {
        model: {
          modelName: "m",
          version: 1,
          config: parseConfigText(config, { fileName: "config.pbtxt" }),
          files: {
            entries: [{ path: "1/model.onnx", size: 1, sha256: "abc", chunks: [] }],
            location: { kind: "memory" },
            read: () => Promise.reject(new Error("nobody reads files here")),
          },
        },
        placement: { ...ON_GPU, verify: true, ...placement },
      };
      try {
        await backend.createInstance(spec, new AbortController().signal);
        return "ok";
      } catch (thrown) {
        const { code, message } = InferenceError.from(thrown);
        return `${code}: ${message}`;
      }
    },
  };
}

/** Answers with the inputs, each number plus `offset`. */
function shifted(offset: number): (execution: FakeExecution) => FakeAnswer {
  return ({ requests }) => ({
    kind: "complete",
    outcomes: requests.map(({ inputs: [input] }) => {
      if (input?.kind !== "bytes") throw new Error("an input in memory");
      const numbers = new Float32Array(input.bytes.slice().buffer).map((number) => number + offset);
      const output: BytesTensor = { ...input, name: "Y", bytes: new Uint8Array(numbers.buffer) };
      return { kind: "response", outputs: [output], parameters: {} };
    }),
  });
}

function warnings({ logger }: Scene): readonly string[] {
  return logger.lines.flatMap(({ level, message }) => (level === "warning" ? [message] : []));
}

describe("a verified backend", () => {
  it("compares two requests on both devices and lets the CPU go", async () => {
    const { create, inner, placements } = scene();
    expect(await create()).toBe("ok");
    expect(inner.executions.map(({ instanceName, rows }) => `${instanceName}: ${rows}`)).toEqual([
      "m_0 for comparison: 1",
      "m_0: 1",
      "m_0 for comparison: 3",
      "m_0: 3",
    ]);
    expect(placements[1]).toMatchObject({ device: { kind: "cpu", threads: 2 } });
    expect(inner.liveCount).toBe(1);
  });

  it("leaves alone what is not to be verified", async () => {
    const { backend, inner } = scene({ gpu: { answer: shifted(1) } });
    const config = parseConfigText(CONFIG, { fileName: "c" });
    const files = {
      entries: [],
      location: { kind: "memory" },
      read: () => Promise.reject(new Error()),
    } as const;
    await backend.createInstance(
      { model: { modelName: "m", version: 1, config, files }, placement: ON_GPU },
      new AbortController().signal,
    );
    expect(inner.executions).toEqual([]);
    expect(inner.creationCount).toBe(1);
  });

  it("refuses a GPU that computes something else, and leaves no instance behind", async () => {
    const { create, inner } = scene({ gpu: { answer: shifted(0.5) } });
    expect(await create()).toMatch(
      /^UNSUPPORTED: its results are not those of the CPU: output 'Y' differs by 0\.5 at element \d, where .* \(X \[1,2\]\)$/,
    );
    expect(inner.liveCount).toBe(0);
  });

  it("remembers a difference, and then does not even ask the GPU", async () => {
    const store = createMemoryFileStore();
    const first = await scene({ gpu: { answer: shifted(0.5) } }, { store }).create();
    const again = scene({}, { store });
    expect(await again.create()).toBe(first);
    expect(again.inner.creationCount).toBe(0);
  });

  it("remembers that there was none, for the same model, configuration, GPU and engine only", async () => {
    const store = createMemoryFileStore();
    await scene({}, { store }).create();
    const again = scene({}, { store });
    expect(await again.create()).toBe("ok");
    expect(again.inner.creationCount).toBe(1);
    await again.create({ config: `${CONFIG} optimization { graph { level: 1 } }` });
    expect(again.inner.creationCount).toBe(3);
    await again.create({ device: { kind: "gpu", adapter: 1 } });
    expect(again.inner.creationCount).toBe(5);
    const other = scene({}, { store, engine: "engine 2" });
    await other.create();
    expect(other.inner.creationCount).toBe(2);
  });

  it("compares once for several equal instances that are made at once", async () => {
    const { create, inner } = scene();
    const names = ["a", "b", "c"];
    expect(await Promise.all(names.map((instanceName) => create({ instanceName })))).toEqual([
      "ok",
      "ok",
      "ok",
    ]);
    expect(inner.creationCount).toBe(4);
  });

  it("refuses a GPU that fails where the CPU does not", async () => {
    const error = { code: "INTERNAL", message: "no shader" } as const;
    const { create } = scene({ gpu: { answer: () => ({ kind: "fail", error }) } });
    expect(await create()).toBe("UNSUPPORTED: it fails where the CPU does not: no shader (X [1,2])");
  });

  it("refuses a GPU that dies, and asks it again the next time", async () => {
    const store = createMemoryFileStore();
    const dying = scene(
      { gpu: { answer: () => ({ kind: "lose", culprit: true, reason: "it hung" }) } },
      { store },
    );
    expect(await dying.create()).toBe("UNSUPPORTED: it gave no result: it hung");
    expect(await scene({}, { store }).create()).toBe("ok");
  });

  const refused: Device = {
    answer: () => ({ kind: "fail", error: { code: "INVALID_ARG", message: "bad shape" } }),
  };
  let tick = 0;

  it.each<[string, Device, string]>([
    ["the CPU accepts nothing", refused, "the CPU does not accept made-up inputs: bad shape"],
    [
      "the CPU cannot load the model",
      { creation: { kind: "fail", error: new InferenceError("UNAVAILABLE", "no memory") } },
      "the CPU cannot run it: no memory",
    ],
    [
      "the CPU dies",
      { answer: () => ({ kind: "lose", culprit: true, reason: "too slow" }) },
      "the CPU gave no result: too slow",
    ],
    [
      "the model is random",
      { answer: (execution) => shifted((tick += 1))(execution) },
      "its outputs are different each time",
    ],
  ])("serves, with a warning, where %s", async (_, cpu, reason) => {
    const one = scene({ cpu });
    expect(await one.create()).toBe("ok");
    expect(warnings(one)).toEqual([`instance m_0 of model m could not be compared with the CPU: ${reason}`]);
    expect(one.inner.liveCount).toBe(1);
  });

  it("takes the first made-up integers that the CPU accepts", async () => {
    const config = CONFIG.replace("TYPE_FP32 dims: 2 }", "TYPE_INT32 dims: 2 }");
    const cpu: Device = {
      answer: ({ requests: [request] }) => {
        const [input] = request?.inputs ?? [];
        const isZero = input?.kind === "bytes" && input.bytes.every((byte) => byte === 0);
        if (isZero) return { kind: "complete" };
        return { kind: "fail", error: { code: "INVALID_ARG", message: "out of range" } };
      },
    };
    const one = scene({ cpu });
    expect(await one.create({ config })).toBe("ok");
    expect(warnings(one)).toEqual([]);
    expect(one.inner.executions.filter(({ instanceName }) => instanceName === "m_0")).toHaveLength(2);
  });

  it("passes on what the GPU says when it cannot load the model", async () => {
    const error = new InferenceError("UNSUPPORTED", "no kernel");
    const { create } = scene({ gpu: { creation: { kind: "fail", error } } });
    expect(await create()).toBe("UNSUPPORTED: no kernel");
  });

  it("serves from a store that cannot be read or written", async () => {
    const broken: FileStore = {
      ...createMemoryFileStore(),
      getDocument: () => Promise.reject(new Error("no disk")),
      putDocument: () => Promise.reject(new Error("no disk")),
    };
    expect(await scene({}, { store: broken }).create()).toBe("ok");
    const odd: FileStore = {
      ...createMemoryFileStore(),
      getDocument: () => Promise.resolve('{"kind":"who knows"}'),
    };
    expect(await scene({}, { store: odd }).create()).toBe("ok");
  });
});
