import type { ServerEvent } from "@naiad/protocol";

export type Subscribe = (listener: (event: ServerEvent) => void) => () => void;

/**
 * What is published from the first read on, until `signal` fires. A reader that does not keep up loses progress events
 * first and then the oldest of the others, never the latest.
 */
export async function* eventStream(
  subscribe: Subscribe,
  signal: AbortSignal,
  capacity = 1000,
): AsyncGenerator<ServerEvent, void> {
  const waiting: ServerEvent[] = [];
  let wake = (): void => {};
  const unsubscribe = subscribe((event) => {
    if (waiting.length >= capacity) waiting.splice(leastWorth(waiting), 1);
    waiting.push(event);
    wake();
  });
  const onAbort = (): void => {
    wake();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    while (!signal.aborted) {
      const event = waiting.shift();
      if (event !== undefined) {
        yield event;
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", onAbort);
  }
}

function leastWorth(waiting: readonly ServerEvent[]): number {
  return Math.max(
    0,
    waiting.findIndex(({ kind }) => kind === "progress"),
  );
}
