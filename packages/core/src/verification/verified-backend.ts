import { encodeConfig } from "@naiad/model-config";
import type { Capabilities } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { Backend, Digest, FileStore, InstanceSpec, Logger, ModelInstance } from "../ports.ts";
import type { Finding } from "./compare-instances.ts";
import { compareInstances } from "./compare-instances.ts";
import type { Verdict } from "./verdict.ts";
import { createVerdictMemory } from "./verdict.ts";

export interface VerificationOptions {
  readonly store: Pick<FileStore, "getDocument" | "putDocument">;
  readonly digest: Digest;
  readonly capabilities: Capabilities;
  /** Name and version of everything that computes: a new one is compared anew. */
  readonly engine: string;
  readonly logger: Logger;
}

/** Threads of the instance that the GPU is compared with. */
const MAX_THREADS = 4;

/**
 * The backend, with the results of its GPU instances compared with those of the CPU where `placement.verify` asks for it,
 * before they serve: engines are known to compute some operators wrongly on some GPUs, without an error. `createInstance`
 * rejects with UNSUPPORTED where they differ. Each comparison is made once for a model, its configuration, the GPU and
 * the engine, and remembered in the store.
 */
export function createVerifiedBackend(backend: Backend, options: VerificationOptions): Backend {
  const { logger } = options;
  const memory = createVerdictMemory(options.store, logger);
  const underWay = new Map<string, Promise<unknown>>();

  /** One after the other for each key: the first comparison of several equal instances is the only one. */
  function verdictOn(
    key: string,
    spec: InstanceSpec,
    gpu: ModelInstance,
    signal: AbortSignal,
  ): Promise<Verdict> {
    const before = underWay.get(key) ?? Promise.resolve();
    const verdict = before
      .catch(() => undefined)
      .then(async () => (await memory.recall(key)) ?? (await found(key, spec, gpu, signal)));
    underWay.set(key, verdict);
    return verdict.finally(() => {
      if (underWay.get(key) === verdict) underWay.delete(key);
    });
  }

  async function found(
    key: string,
    spec: InstanceSpec,
    gpu: ModelInstance,
    signal: AbortSignal,
  ): Promise<Verdict> {
    const { verdict, isLasting } = await verify(spec, gpu, signal);
    if (isLasting) await memory.keep(key, verdict);
    return verdict;
  }

  async function verify(spec: InstanceSpec, gpu: ModelInstance, signal: AbortSignal): Promise<Finding> {
    const { modelName, config } = spec.model;
    logger.log("info", `the results of model ${modelName} on the GPU are compared with those of the CPU`);
    let cpu: ModelInstance;
    try {
      cpu = await backend.createInstance(onCpu(spec, options.capabilities), signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const reason = `the CPU cannot run it: ${InferenceError.from(thrown).message}`;
      return { verdict: { kind: "unknown", reason }, isLasting: false };
    }
    try {
      return await compareInstances({ config, gpu, cpu, signal });
    } finally {
      await cpu.dispose();
    }
  }

  return {
    name: backend.name,
    ...(backend.preferredDevice !== undefined && { preferredDevice: backend.preferredDevice }),
    ...(backend.keepsState !== undefined && { keepsState: backend.keepsState }),
    prepare: (model, prepareOptions) => backend.prepare(model, prepareOptions),
    async createInstance(spec, signal) {
      if (spec.placement.verify !== true) return backend.createInstance(spec, signal);
      const key = await verificationKey(spec, options);
      const known = await memory.recall(key);
      if (known?.kind === "different") throw new InferenceError("UNSUPPORTED", known.reason);
      const gpu = await backend.createInstance(spec, signal);
      try {
        report(await verdictOn(key, spec, gpu, signal), spec, logger);
        return gpu;
      } catch (thrown) {
        await gpu.dispose();
        signal.throwIfAborted();
        throw thrown;
      }
    },
  };
}

/** Throws where the instance may not serve. */
function report(verdict: Verdict, { model, placement }: InstanceSpec, logger: Logger): void {
  const subject = `instance ${placement.instanceName} of model ${model.modelName}`;
  switch (verdict.kind) {
    case "equal":
      logger.log("verbose", `${subject} gives the same results as the CPU`);
      return;
    case "unknown":
      logger.log("warning", `${subject} could not be compared with the CPU: ${verdict.reason}`);
      return;
    case "different":
      throw new InferenceError("UNSUPPORTED", verdict.reason);
  }
}

function onCpu({ model, placement }: InstanceSpec, capabilities: Capabilities): InstanceSpec {
  const { crossOriginIsolated, hardwareConcurrency } = capabilities;
  const threads = crossOriginIsolated ? Math.min(Math.max(hardwareConcurrency - 1, 1), MAX_THREADS) : 1;
  const instanceName = `${placement.instanceName} for comparison`;
  const workerKey = `cpu:${model.modelName}:${String(model.version)}:${instanceName}`;
  return { model, placement: { instanceName, device: { kind: "cpu", threads }, workerKey } };
}

async function verificationKey(
  { model, placement }: InstanceSpec,
  { digest, capabilities, engine }: VerificationOptions,
): Promise<string> {
  const { device } = placement;
  const adapter =
    device.kind === "gpu" ? capabilities.gpus.find(({ index }) => index === device.adapter) : undefined;
  const parts = {
    files: model.files.entries.map(({ path, sha256 }) => [path, sha256]),
    config: await digest.sha256(encodeConfig(model.config)),
    adapter: [adapter?.vendor, adapter?.architecture, adapter?.description, adapter?.features],
    engine,
  };
  return digest.sha256(new TextEncoder().encode(JSON.stringify(parts)));
}
