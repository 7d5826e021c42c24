import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

/**
 * Ceilings in gzipped bytes, each with its reason. They are raised by hand, in the commit that needs it, with a reason;
 * a ceiling well above the size is lowered the same way.
 */
const CEILINGS: Readonly<Record<string, { readonly bytes: number; readonly why: string }>> = {
  "index.js": {
    bytes: 56_500,
    why: "what every page loads first; with its comments, a bundler halves it, and leaves out diagnose() and what writes traces",
  },
  "perf.js": {
    bytes: 48_000,
    why: "hdr-histogram-js, the tensors and JSON of the protocol, perf_analyzer's report, limits for servers that hang",
  },
  "naiad-sw.js": { bytes: 12_000, why: "read again at each start of the service worker" },
  "workers/host.js": {
    bytes: 184_000,
    why: "the whole server with all its schedulers, ensembles and traces, gRPC and its reflection, a third of it protobuf with Triton's ModelConfig",
  },
  "workers/instance-javascript.js": {
    bytes: 60_000,
    why: "protobuf with Triton's ModelConfig, storage, and the lexer of modules; without an engine",
  },
  "workers/instance-wasm.js": {
    bytes: 62_000,
    why: "onnxruntime-web's own 16 KB, the codec, storage, and what the GPU's workers have too",
  },
  "node/host.js": {
    bytes: 184_000,
    why: "what workers/host.js has, with directories in the place of IndexedDB; read by each start of a host thread",
  },
  "node/instance-javascript.js": {
    bytes: 66_000,
    why: "as workers/instance-javascript.js, and locks over a port; read by each thread of a model",
  },
  "node/instance-wasm.js": {
    bytes: 58_000,
    why: "as workers/instance-wasm.js without onnxruntime-web, which is read from its own package",
  },
};

/** Throws when an output has outgrown its ceiling; gives the sizes in one line. */
export async function checkSizes(dist: string): Promise<string> {
  const parts: string[] = [];
  for (const [file, { bytes, why }] of Object.entries(CEILINGS)) {
    const size = gzipSync(await readFile(join(dist, file)), { level: 9 }).length;
    if (size > bytes) throw new Error(`${file} is ${size} bytes gzipped, its ceiling is ${bytes} (${why})`);
    parts.push(`${file} ${(size / 1000).toFixed(1)} KB`);
  }
  return parts.join(", ");
}
