import type { BytesTensor } from "@naiad/protocol";
import type { Clock } from "../../ports.ts";
import type {
  CachedResponse,
  CachePartition,
  Insertion,
  ResponseCache,
  ResponseCacheCounters,
} from "./response-cache.ts";

export interface LocalResponseCacheOptions {
  /** What all entries may take together. */
  readonly byteSize: number;
  readonly clock: Pick<Clock, "nowNs">;
}

interface Entry {
  readonly partition: number;
  readonly response: CachedResponse;
  readonly byteSize: number;
}

/** Triton's `local` cache: in memory, limited in bytes; what was not used for the longest time goes first. */
export class LocalResponseCache implements ResponseCache {
  readonly #byteSize: number;
  readonly #clock: Pick<Clock, "nowNs">;
  /** The least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #partitions = 0;
  #usedBytes = 0;
  #hits = 0;
  #misses = 0;
  #evictions = 0;
  #lookupNs = 0;
  #insertionNs = 0;

  constructor({ byteSize, clock }: LocalResponseCacheOptions) {
    this.#byteSize = byteSize;
    this.#clock = clock;
  }

  openPartition(): CachePartition {
    const partition = (this.#partitions += 1);
    let isOpen = true;
    return {
      lookup: (key) => this.#lookup(entryKey(partition, key)),
      insert: (key, response) => {
        if (!isOpen) return { kind: "refused", reason: "the model is not served any more" };
        return this.#insert(partition, entryKey(partition, key), response);
      },
      close: () => {
        isOpen = false;
        this.#forget(partition);
      },
    };
  }

  counters(): ResponseCacheCounters {
    return {
      entries: this.#entries.size,
      usedBytes: this.#usedBytes,
      byteSize: this.#byteSize,
      lookups: this.#hits + this.#misses,
      hits: this.#hits,
      misses: this.#misses,
      evictions: this.#evictions,
      lookupNs: this.#lookupNs,
      insertionNs: this.#insertionNs,
    };
  }

  #lookup(key: string): CachedResponse | undefined {
    const startNs = this.#clock.nowNs();
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#misses += 1;
    } else {
      this.#hits += 1;
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    const response = entry === undefined ? undefined : copyOf(entry.response);
    this.#lookupNs += this.#clock.nowNs() - startNs;
    return response;
  }

  #insert(partition: number, key: string, response: CachedResponse): Insertion {
    const startNs = this.#clock.nowNs();
    const insertion = this.#store(partition, key, response);
    this.#insertionNs += this.#clock.nowNs() - startNs;
    return insertion;
  }

  #store(partition: number, key: string, response: CachedResponse): Insertion {
    if (this.#entries.has(key)) return { kind: "exists" };
    const byteSize = entryByteSize(key, response);
    if (byteSize > this.#byteSize) {
      const reason = `Requested byte_size: ${byteSize} is greater than total cache size: ${this.#byteSize}`;
      return { kind: "refused", reason };
    }
    this.#makeRoom(byteSize);
    this.#entries.set(key, { partition, response: copyOf(response), byteSize });
    this.#usedBytes += byteSize;
    return { kind: "inserted" };
  }

  #makeRoom(byteSize: number): void {
    for (const [key, entry] of this.#entries) {
      if (this.#usedBytes + byteSize <= this.#byteSize) return;
      this.#remove(key, entry);
      this.#evictions += 1;
    }
  }

  #forget(partition: number): void {
    for (const [key, entry] of this.#entries) {
      if (entry.partition === partition) this.#remove(key, entry);
    }
  }

  #remove(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#usedBytes -= entry.byteSize;
  }
}

function entryKey(partition: number, key: string): string {
  return `${partition} ${key}`;
}

function copyOf({ outputs, parameters }: CachedResponse): CachedResponse {
  return { outputs: outputs.map((output) => ({ ...output, bytes: output.bytes.slice() })), parameters };
}

/** What an entry takes beside the content of its outputs, in round numbers: objects, hash table, buffers. */
const ENTRY_OVERHEAD = 256;
const OUTPUT_OVERHEAD = 256;

function entryByteSize(key: string, { outputs, parameters }: CachedResponse): number {
  const texts = [key, ...Object.entries(parameters).flatMap(([name, value]) => [name, String(value)])];
  return (
    ENTRY_OVERHEAD +
    texts.reduce((sum, text) => sum + 2 * text.length, 0) +
    outputs.reduce((sum, output) => sum + outputByteSize(output), 0)
  );
}

function outputByteSize({ name, shape, bytes }: BytesTensor): number {
  return OUTPUT_OVERHEAD + 2 * name.length + 8 * shape.length + bytes.byteLength;
}
