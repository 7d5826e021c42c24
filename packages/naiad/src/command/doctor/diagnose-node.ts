import { readFile, statfs } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import { ENGINE_VERSION, HIGHEST_OPSET } from "@naiad/backend-onnxruntime";
import { clockResolution } from "@naiad/runtime/platform";
import type { PlatformFinding } from "../../sdk/judge-platform.ts";
import { createNodeClock } from "../perf/node-clock.ts";
import { memoryBytes } from "../serve/node/machine-memory.ts";

/** What `naiad serve --runtime node` would find here. */
export interface NodeFacts {
  readonly nodeVersion: string;
  readonly engineVersion: string;
  readonly highestOpset: number;
  /** Why the engine's WebAssembly, which needs SIMD and shared memory, does not compile; absent where it does. */
  readonly engineError?: string;
  readonly cores: number;
  readonly memoryBytes: number;
  /** The most that JavaScript of one thread can take. */
  readonly heapBytes: number;
  readonly temporaryDirectory: string;
  /** `undefined` where nobody knows. */
  readonly temporaryFreeBytes?: number;
  readonly clockResolutionNs: number;
}

/** `ort`: onnxruntime-web's folder. Never rejects. */
export async function nodeFacts(ort: string): Promise<NodeFacts> {
  const clock = createNodeClock();
  const engineError = await compileError(join(ort, "ort-wasm-simd-threaded.wasm"));
  const temporaryFreeBytes = await freeBytes(tmpdir());
  return {
    nodeVersion: process.version,
    engineVersion: ENGINE_VERSION,
    highestOpset: HIGHEST_OPSET,
    ...(engineError !== undefined && { engineError }),
    cores: availableParallelism(),
    memoryBytes: memoryBytes(),
    heapBytes: getHeapStatistics().heap_size_limit,
    temporaryDirectory: tmpdir(),
    ...(temporaryFreeBytes !== undefined && { temporaryFreeBytes }),
    clockResolutionNs: clockResolution(() => clock.nowNs()),
  };
}

const MIB = 1024 ** 2;
/** Of what comes with load requests, and of modules of models. */
const LITTLE_SPACE_BYTES = 256 * MIB;

export function judgeNode(facts: NodeFacts): readonly PlatformFinding[] {
  const { engineError, temporaryFreeBytes: free = Number.POSITIVE_INFINITY } = facts;
  const space = `${facts.temporaryDirectory}: ${Number.isFinite(free) ? `${mib(free)} free` : "nobody tells how much is free"}`;
  return [
    engineError === undefined
      ? {
          severity: "good",
          subject: "engine",
          text: `onnxruntime-web ${facts.engineVersion} with SIMD and threads, ONNX opset ${facts.highestOpset} and below`,
        }
      : { severity: "problem", subject: "engine", text: `onnxruntime-web does not compile: ${engineError}` },
    { severity: "limit", subject: "GPU", text: "none here: models run on the CPU, also those of KIND_GPU" },
    {
      severity: "good",
      subject: "machine",
      text: `${facts.cores} cores, ${mib(facts.memoryBytes)} of memory; JavaScript of a thread can take ${mib(facts.heapBytes)}`,
    },
    {
      severity: free < LITTLE_SPACE_BYTES ? "limit" : "good",
      subject: "temporary files",
      text:
        free < LITTLE_SPACE_BYTES
          ? `${space}, which models in load requests may fill; TMPDIR names another`
          : space,
    },
    { severity: "good", subject: "timer", text: `steps of ${facts.clockResolutionNs / 1000} us` },
  ];
}

async function compileError(file: string): Promise<string | undefined> {
  try {
    await WebAssembly.compile(await readFile(file));
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function freeBytes(directory: string): Promise<number | undefined> {
  try {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}
