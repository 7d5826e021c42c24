import type { TraceSink } from "@naiad/core";
import type { TraceActivity, TraceNote } from "@naiad/protocol";

/** The last traces of a server, for whoever reads them. */
export interface TraceBook extends TraceSink {
  /**
   * What is kept, oldest first, and then what comes, until `signal` fires or, after the last of it, the book is closed. A
   * reader that does not keep up is told how many it has missed.
   */
  read(signal: AbortSignal): AsyncGenerator<TraceNote, void>;
  /** Nothing more comes. */
  close(): void;
}

export interface TraceBookOptions {
  /** Of what is kept, roughly. Beyond it the oldest goes. */
  readonly capacityBytes?: number;
  /** Whether a trace that was read stays for other readers, or there is one reader for all. */
  readonly readers: "any" | "one";
}

interface Entry {
  readonly note: TraceNote;
  readonly bytes: number;
  /** Traces that came before it. */
  readonly tracesBefore: number;
}

interface Position {
  /** Of the next entry, counted from the book's beginning. */
  next: number;
  tracesSeen: number;
}

const DEFAULT_CAPACITY = 16 * 1024 * 1024;

export function createTraceBook({ capacityBytes = DEFAULT_CAPACITY, readers }: TraceBookOptions): TraceBook {
  const entries: Entry[] = [];
  /** Entries that were given up or taken away. */
  let goneCount = 0;
  let keptBytes = 0;
  let traceCount = 0;
  let isClosed = false;
  const only: Position = { next: 0, tracesSeen: 0 };
  let waiting: (() => void)[] = [];

  function wake(): void {
    const woken = waiting;
    waiting = [];
    for (const goOn of woken) goOn();
  }

  function add(note: TraceNote): void {
    const bytes = bytesOf(note);
    entries.push({ note, bytes, tracesBefore: traceCount });
    if (note.kind === "trace") traceCount += 1;
    keptBytes += bytes;
    while (keptBytes > capacityBytes && entries.length > 1) forgetOldest();
    wake();
  }

  function forgetOldest(): void {
    keptBytes -= entries.shift()?.bytes ?? 0;
    goneCount += 1;
  }

  /** The next that the reader has not had; `undefined` while there is none. */
  function take(position: Position): TraceNote | undefined {
    const next = Math.max(position.next, goneCount);
    const entry = entries[next - goneCount];
    if (entry === undefined) return undefined;
    const missed = entry.tracesBefore - position.tracesSeen;
    position.next = next;
    position.tracesSeen = entry.tracesBefore;
    if (missed > 0) return { kind: "dropped", count: missed };
    position.next += 1;
    if (entry.note.kind === "trace") position.tracesSeen += 1;
    if (readers === "one") forgetOldest();
    return entry.note;
  }

  return {
    collect: (trace) => {
      add({ kind: "trace", trace });
    },
    settingEnded: ({ id, logFrequency }) => {
      add({ kind: "setting-ended", settingId: id, logFrequency });
    },
    close: () => {
      isClosed = true;
      wake();
    },
    async *read(signal) {
      const position = readers === "one" ? only : { next: 0, tracesSeen: 0 };
      signal.addEventListener("abort", wake);
      try {
        while (!signal.aborted) {
          const note = take(position);
          if (note !== undefined) {
            yield note;
            continue;
          }
          if (isClosed) return;
          await new Promise<void>((resolve) => {
            waiting.push(resolve);
          });
        }
      } finally {
        signal.removeEventListener("abort", wake);
      }
    },
  };
}

/** A measure: texts take most of it, at most two bytes a character. */
function bytesOf(note: TraceNote): number {
  if (note.kind !== "trace") return 64;
  const { requests, activities } = note.trace;
  return (
    200 + 150 * requests.length + activities.reduce((sum, activity) => sum + bytesOfActivity(activity), 0)
  );
}

function bytesOfActivity(activity: TraceActivity): number {
  return activity.kind === "tensor" ? 150 + 2 * activity.data.length : 80;
}
