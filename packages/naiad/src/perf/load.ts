import type { Clock } from "@naiad/core";
import type { InferenceRequest } from "@naiad/protocol";
import type { Arrivals } from "./arrivals.ts";
import type { RequestSlot, RequestSource } from "./request-source.ts";
import type { InferTiming } from "./target.ts";

/** A request that was answered. */
export interface Completion extends InferTiming {
  /** When it was sent; in a load with a schedule, when it was due: a server that holds up the next request is not let off. */
  readonly startNs: number;
  readonly endNs: number;
  /** How long after it was due it was sent; 0 where there is no schedule. */
  readonly delayNs: number;
}

export interface LoadContext {
  readonly clock: Clock;
  readonly source: RequestSource;
  readonly send: (request: InferenceRequest) => Promise<InferTiming>;
  readonly onCompletion: (completion: Completion) => void;
  /** Called once, with the first failure; nothing more is sent then. */
  readonly onFailure: (thrown: unknown) => void;
  /** Requests that are sent at all, beside those that end sequences. */
  readonly limit: number;
}

/** Requests on their way until it is stopped. */
export interface Load {
  /** Sends nothing more but the ends of open sequences. Resolves when everything is answered, and never rejects. */
  stop(): Promise<void>;
}

interface Sender {
  /** Whether another may be sent; counts it. */
  take(): boolean;
  send(request: InferenceRequest, dueNs: number): Promise<void>;
  close(): void;
}

function createSender({ clock, limit, onCompletion, onFailure, send }: LoadContext): Sender {
  let isOpen = true;
  let hasFailed = false;
  let taken = 0;

  function fail(thrown: unknown): void {
    if (hasFailed) return;
    hasFailed = true;
    isOpen = false;
    onFailure(thrown);
  }

  return {
    take: () => {
      taken += 1;
      return isOpen && taken <= limit;
    },
    send: async (request, dueNs) => {
      if (hasFailed) return;
      try {
        const delayNs = Math.max(clock.nowNs() - dueNs, 0);
        const timing = await send(request);
        onCompletion({ ...timing, startNs: dueNs, endNs: clock.nowNs(), delayNs });
      } catch (thrown) {
        fail(thrown);
      }
    },
    close: () => {
      isOpen = false;
    },
  };
}

/** So many requests are always on their way. */
export function startConcurrentLoad(concurrency: number, context: LoadContext): Load {
  const sender = createSender(context);
  const run = async (slot: RequestSlot): Promise<void> => {
    while (sender.take()) await sender.send(slot.next(), context.clock.nowNs());
    const last = slot.end();
    if (last !== undefined) await sender.send(last, context.clock.nowNs());
  };
  const running = Array.from({ length: concurrency }, () => run(context.source.slot()));
  return {
    stop: async () => {
      sender.close();
      await Promise.all(running);
    },
  };
}

/**
 * Requests are sent when they are due, however many are on their way. Those of a sequence wait for each other, so they are
 * dealt to so many slots in turn; the time they wait counts.
 */
export function startScheduledLoad(arrivals: Arrivals, slotCount: number, context: LoadContext): Load {
  const { clock, source } = context;
  const sender = createSender(context);
  const slots = Array.from({ length: Math.max(slotCount, 1) }, () => ({
    requests: source.slot(),
    tail: Promise.resolve(),
  }));
  /** Of a model without sequences nothing has to wait. */
  const isOrdered = slotCount > 0;
  const running = new Set<Promise<void>>();
  let dueNs = clock.nowNs();
  let turn = 0;
  let cancel = (): void => undefined;

  function launch(atNs: number): void {
    const slot = slots[turn % slots.length];
    turn += 1;
    if (slot === undefined) return;
    const request = slot.requests.next();
    const sent = isOrdered ? slot.tail.then(() => sender.send(request, atNs)) : sender.send(request, atNs);
    slot.tail = sent;
    running.add(sent);
    void sent.then(() => running.delete(sent));
  }

  function wake(): void {
    while (dueNs <= clock.nowNs()) {
      if (!sender.take()) return;
      launch(dueNs);
      dueNs += arrivals();
    }
    cancel = clock.after(dueNs - clock.nowNs(), wake);
  }

  wake();
  return {
    stop: async () => {
      cancel();
      sender.close();
      await Promise.all(running);
      const ends = slots.map(({ requests }) => requests.end()).filter((request) => request !== undefined);
      await Promise.all(ends.map((request) => sender.send(request, clock.nowNs())));
    },
  };
}
