import { InferenceError, invariant } from "@naiad/protocol";
import type { Clock, Digest, FileStore, Logger, ModelFile, RepositorySource } from "../ports.ts";
import { type ChunkRun, chunkRange, runRange, sizeOf } from "./chunks.ts";
import { sleep } from "./sleep.ts";
import { transfer } from "./transfer.ts";

const SECOND_NS = 1_000_000_000;
const IDLE_LIMIT_NS = 30 * SECOND_NS;
/** Waits between attempts that brought nothing; after the last one the download fails. */
const BACK_OFF_NS: readonly number[] = [0.5, 1, 2, 4].map((seconds) => seconds * SECOND_NS);
/** An attempt that brought this much counts as a success: a network that breaks often still gets there. */
const PROGRESS_BYTES = 64 * 1024;

export interface DownloadContext {
  readonly modelName: string;
  readonly source: RepositorySource;
  readonly store: FileStore;
  readonly digest: Digest;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Bytes that are there, stored or still being gathered. Falls back when a chunk turns out to be wrong. */
  readonly onLoaded: (bytes: number) => void;
}

type AttemptOutcome =
  | { readonly kind: "complete" }
  | { readonly kind: "broken"; readonly error: InferenceError }
  | { readonly kind: "mismatch"; readonly index: number; readonly got: string; readonly bytes: Uint8Array };

/** How far a run has come; lives across attempts, so that a broken transfer goes on at the byte where it broke. */
interface RunProgress {
  /** The chunk that is being filled. */
  index: number;
  /** Its bytes so far; handed to the store when full. */
  buffer: Uint8Array;
  filled: number;
}

/**
 * Brings one run of chunks into the store, each verified before it is put. A broken transfer goes on where it broke, after
 * a wait; a chunk that does not match is asked for once more. Rejects with `signal`'s reason, with what the store or the
 * digest threw, or with an InferenceError that names the file.
 */
export async function downloadRun(file: ModelFile, run: ChunkRun, context: DownloadContext): Promise<void> {
  const { clock, logger, modelName, signal, source } = context;
  const progress: RunProgress = { index: run.first, buffer: emptyChunk(file, run.first), filled: 0 };
  const position = (): number => chunkRange(file, progress.index).start + progress.filled;
  const mismatched = new Set<number>();
  const what = `file '${file.path}' of model '${modelName}'`;
  let failures = 0;

  for (;;) {
    const before = position();
    const outcome = await attemptRun(file, run, progress, context);
    if (outcome.kind === "complete") return;
    if (outcome.kind === "mismatch") {
      const message = mismatchMessage(file, outcome);
      if (mismatched.has(outcome.index)) {
        throw new InferenceError("UNAVAILABLE", `failed to download ${what} from ${source.id}: ${message}`);
      }
      mismatched.add(outcome.index);
      logger.log("warning", `${what}: ${message}; trying once more`);
      continue;
    }
    const { error } = outcome;
    if (position() - before >= PROGRESS_BYTES) failures = 0;
    const delayNs = BACK_OFF_NS[failures++];
    if (delayNs === undefined || !isTransient(error)) {
      throw new InferenceError(
        isTransient(error) ? "UNAVAILABLE" : error.code,
        `failed to download ${what} from ${source.id}: ${error.message}`,
        { cause: error },
      );
    }
    logger.log("warning", `${what}: ${error.message}; trying again in ${String(delayNs / SECOND_NS)} s`);
    await sleep(clock, delayNs, signal);
  }
}

/** One transfer, from where the run stands to its end. Failures of the store or the digest are thrown. */
async function attemptRun(
  file: ModelFile,
  run: ChunkRun,
  progress: RunProgress,
  context: DownloadContext,
): Promise<AttemptOutcome> {
  const { clock, digest, modelName, onLoaded, signal, source, store } = context;
  const { start: runStart, end } = runRange(file, run);
  const start = chunkRange(file, progress.index).start + progress.filled;
  const open = (aborted: AbortSignal): AsyncIterable<Uint8Array> =>
    source.read(modelName, file.path, { start, end }, aborted);

  let received = 0;
  for await (const item of transfer({ open, clock, idleLimitNs: IDLE_LIMIT_NS, signal })) {
    if (item.kind === "broken") return item;
    if (item.kind === "end") break;
    received += item.bytes.byteLength;
    invariant(start + received <= end, `the source gave bytes beyond those asked for of '${file.path}'`);
    onLoaded(start + received - runStart);

    let rest = item.bytes;
    while (rest.byteLength > 0) {
      const piece = rest.subarray(0, progress.buffer.byteLength - progress.filled);
      progress.buffer.set(piece, progress.filled);
      progress.filled += piece.byteLength;
      rest = rest.subarray(piece.byteLength);
      if (progress.filled < progress.buffer.byteLength) break;

      const { index, buffer } = progress;
      const got = await digest.sha256(buffer);
      signal.throwIfAborted();
      progress.filled = 0;
      if (got !== file.chunks[index]) return { kind: "mismatch", index, got, bytes: buffer };
      await store.putChunk(got, buffer);
      if (index + 1 === run.end) return { kind: "complete" };
      progress.index = index + 1;
      progress.buffer = emptyChunk(file, progress.index);
    }
  }
  return { kind: "broken", error: endedEarly(received, end - start) };
}

function emptyChunk(file: ModelFile, index: number): Uint8Array {
  return new Uint8Array(sizeOf(chunkRange(file, index)));
}

function endedEarly(received: number, wanted: number): InferenceError {
  return new InferenceError(
    "UNAVAILABLE",
    `the transfer ended after ${String(received)} of ${String(wanted)} bytes`,
  );
}

function mismatchMessage(file: ModelFile, outcome: AttemptOutcome & { kind: "mismatch" }): string {
  const { bytes, got, index } = outcome;
  const reason = looksLikeHtml(bytes)
    ? "the server answered with an HTML page instead of the file"
    : "a deploy in progress, or a manifest that is not of these files";
  return (
    `chunk ${String(index + 1)} of ${String(file.chunks.length)} has SHA-256 ${got} where the manifest says ` +
    `${String(file.chunks[index])} (${reason})`
  );
}

function looksLikeHtml(bytes: Uint8Array): boolean {
  const head = new TextDecoder().decode(bytes.subarray(0, 256)).trimStart().toLowerCase();
  return head.startsWith("<!doctype html") || head.startsWith("<html");
}

/** Worth another attempt: the network and the server may recover, an answer such as "not found" stays. */
function isTransient(error: InferenceError): boolean {
  return error.code === "UNAVAILABLE" || error.code === "INTERNAL" || error.code === "CANCELLED";
}
