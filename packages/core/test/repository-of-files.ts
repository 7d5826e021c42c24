import { InferenceError } from "@naiad/protocol";
import { expect } from "vitest";
import {
  type ByteRange,
  CHUNK_SIZE,
  type Clock,
  type Digest,
  type ManifestModel,
  type ModelFile,
  type RepositorySource,
} from "../src/ports.ts";
import { type FetchModelFiles } from "../src/repository/fetch-files.ts";
import { createMemoryFileStore } from "../src/repository/memory-file-store.ts";

/** Content is told apart by its length and its first and last bytes: enough here, and quick for chunks of 4 MiB. */
export const sampling: Digest = {
  sha256(bytes) {
    const samples = [...bytes.subarray(0, 8), ...bytes.subarray(-8)];
    const hash = samples.reduce((sum, byte) => Math.imul(sum ^ byte, 16777619) >>> 0, bytes.byteLength);
    return Promise.resolve(hash.toString(16).padStart(64, "0"));
  },
};

/** One byte of tag per chunk; equal tags make equal chunks. The last chunk has `tailBytes`. */
export function contentOf(tags: readonly number[], tailBytes: number): Uint8Array {
  const size = tags.length === 0 ? 0 : (tags.length - 1) * CHUNK_SIZE + tailBytes;
  const bytes = new Uint8Array(size);
  tags.forEach((tag, i) => (bytes[i * CHUNK_SIZE] = tag));
  return bytes;
}

async function describeFile(path: string, bytes: Uint8Array): Promise<ModelFile> {
  const chunks: string[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_SIZE) {
    chunks.push(await sampling.sha256(bytes.subarray(at, at + CHUNK_SIZE)));
  }
  return { path, size: bytes.length, sha256: `file-${String(bytes.length)}-${chunks.join()}`, chunks };
}

export interface Repository {
  readonly model: ManifestModel;
  readonly contents: ReadonlyMap<string, Uint8Array>;
}

export async function repositoryOf(contents: Readonly<Record<string, Uint8Array>>): Promise<Repository> {
  const files = await Promise.all(Object.entries(contents).map(([path, bytes]) => describeFile(path, bytes)));
  return { model: { name: "m", directories: ["1"], files }, contents: new Map(Object.entries(contents)) };
}

interface Read extends ByteRange {
  readonly path: string;
}

/** Serves pieces of 1 MiB; `disturb` may replace or refuse a piece, or fire an abort. */
export function sourceOf(
  repository: Repository,
  disturb: (piece: Uint8Array, read: Read, offset: number) => Uint8Array = (piece) => piece,
): RepositorySource & { readonly reads: readonly Read[] } {
  const reads: Read[] = [];
  return {
    id: "http://models.test/",
    reads,
    manifest: () => Promise.resolve({ models: [repository.model] }),
    async *read(_model, path, range, signal) {
      const read = { path, ...range };
      reads.push(read);
      const bytes = repository.contents.get(path);
      if (bytes === undefined) throw new InferenceError("NOT_FOUND", "404");
      for (let at = range.start; at < range.end; at += 1024 * 1024) {
        signal.throwIfAborted();
        const piece = bytes.slice(at, Math.min(at + 1024 * 1024, range.end));
        yield await Promise.resolve(disturb(piece, read, at));
      }
    },
  };
}

/** Wakes back-offs at once and keeps longer watches until `elapse`. */
export function impatientClock(): Clock & { readonly delaysNs: readonly number[]; elapse(): void } {
  const delaysNs: number[] = [];
  const watches = new Set<() => void>();
  return {
    delaysNs,
    elapse() {
      for (const wake of watches) wake();
    },
    nowNs: () => 0,
    epochMs: () => 0,
    resolutionNs: 1,
    after(delayNs, wake) {
      const isBackOff = delayNs < 10e9;
      if (isBackOff) {
        delaysNs.push(delayNs);
        queueMicrotask(wake);
      } else watches.add(wake);
      return () => watches.delete(wake);
    },
  };
}

export function options(repository: Repository, overrides: Partial<FetchModelFiles> = {}): FetchModelFiles {
  return {
    model: repository.model,
    paths: repository.model.files.map((file) => file.path),
    source: sourceOf(repository),
    store: createMemoryFileStore(),
    digest: sampling,
    clock: impatientClock(),
    logger: { log: () => undefined },
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...overrides,
  };
}

/** A plain loop: matchers and callbacks take seconds for megabytes. */
function firstDifference(actual: Uint8Array, expected: Uint8Array): number | undefined {
  for (let i = 0; i < Math.max(actual.length, expected.length); i++) if (actual[i] !== expected[i]) return i;
  return undefined;
}

export function expectContents(actual: Uint8Array, expected: Uint8Array): void {
  expect(firstDifference(actual, expected)).toBeUndefined();
}

export const bytesOf = (reads: readonly Read[]): number =>
  reads.reduce((sum, { start, end }) => sum + end - start, 0);
