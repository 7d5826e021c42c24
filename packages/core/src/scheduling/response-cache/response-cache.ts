import type { BytesTensor, Parameters } from "@naiad/protocol";

/** An answer without what belongs to one request alone: no id, no times. */
export interface CachedResponse {
  readonly outputs: readonly BytesTensor[];
  readonly parameters: Parameters;
}

export type Insertion =
  | { readonly kind: "inserted" }
  /** An equal request was faster. */
  | { readonly kind: "exists" }
  | { readonly kind: "refused"; readonly reason: string };

/** What one load of a model version has in the cache. It never sees what another load has. */
export interface CachePartition {
  /** A copy that the caller owns. */
  lookup(key: string): CachedResponse | undefined;
  /** Keeps a copy, and never throws. */
  insert(key: string, response: CachedResponse): Insertion;
  /** Forgets all of it and keeps nothing from now on. Idempotent. */
  close(): void;
}

/** Counts since the server began, over all models. Durations are those of the cache itself, without the making of keys. */
export interface ResponseCacheCounters {
  readonly entries: number;
  /** Of everything kept, at most `byteSize`. */
  readonly usedBytes: number;
  readonly byteSize: number;
  readonly lookups: number;
  readonly hits: number;
  readonly misses: number;
  /** Entries that had to go for others, not those of models that were unloaded. */
  readonly evictions: number;
  readonly lookupNs: number;
  readonly insertionNs: number;
}

/**
 * Where the answers of models with `response_cache` are kept. Synchronous: what takes a way to be asked would cost more than
 * most models do in a browser.
 */
export interface ResponseCache {
  openPartition(): CachePartition;
  counters(): ResponseCacheCounters;
}
