import type { Clock } from "@naiad/core";
import type { InferenceRequest, SequenceFlags } from "@naiad/protocol";
import type { Arrivals } from "./arrivals.ts";
import { checkOutputs } from "./check-outputs.ts";
import type { PlannedRequest, RequestSlot, RequestSource } from "./request-source.ts";
import type { InferAnswer } from "./target.ts";

/** A request that was answered. */
export interface Completion extends Pick<InferAnswer, "responses" | "sendNs" | "receiveNs"> {
  /** When it was sent; in a load with a schedule, when it was due: a server that holds up the next request is not let off. */
  readonly startNs: number;
  /** When the first response came, which is what latency is measured by. */
  readonly endNs: number;
  /** When each response came. */
  readonly responsesNs: readonly number[];
  readonly sequence?: SequenceFlags;
  /**
   * How long after it was due this client came to send it; 0 where there is no schedule. That a request waits for the one before it
   * in its sequence is none of it.
   */
  readonly delayNs: number;
}

export interface LoadContext {
  readonly clock: Clock;
  readonly source: RequestSource;
  readonly send: (request: InferenceRequest) => Promise<InferAnswer>;
  /** Called when a request is sent. */
  readonly onSend: () => void;
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

interface Due {
  readonly atNs: number;
  readonly delayNs: number;
}

interface Sender {
  /** Whether another may be sent; counts it. */
  take(): boolean;
  send(planned: PlannedRequest, due: Due): Promise<void>;
  close(): void;
}

function createSender({ clock, limit, onCompletion, onFailure, onSend, send }: LoadContext): Sender {
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
    send: async ({ expected, request }, { atNs, delayNs }) => {
      if (hasFailed) return;
      try {
        const sentNs = clock.nowNs();
        onSend();
        const answer = await send(request);
        const responsesNs = answer.responseNs?.map((afterNs) => sentNs + afterNs) ?? [clock.nowNs()];
        if (expected !== undefined) checkOutputs(answer.outputs(), expected);
        const { receiveNs, responses, sendNs } = answer;
        onCompletion({
          startNs: atNs,
          endNs: responsesNs[0] ?? clock.nowNs(),
          responsesNs,
          delayNs,
          responses,
          ...(sendNs !== undefined && receiveNs !== undefined && { sendNs, receiveNs }),
          ...(request.sequence !== undefined && { sequence: request.sequence }),
        });
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
  const now = (): Due => ({ atNs: context.clock.nowNs(), delayNs: 0 });
  const run = async (slot: RequestSlot): Promise<void> => {
    while (sender.take()) await sender.send(slot.next(), now());
    const last = slot.end();
    if (last !== undefined) await sender.send(last, now());
  };
  const running = Array.from({ length: concurrency }, () => run(context.source.slot()));
  return {
    stop: async () => {
      sender.close();
      await Promise.all(running);
    },
  };
}

/** A server that is slower than the schedule would else be sent more and more, until no connection can be had. */
const MOST_ON_THE_WAY = 1024;

/** Carries one request at a time. */
interface Lane {
  readonly requests: RequestSlot;
  /** What was due before this could not be sent in it, and that is no delay of this client. */
  idleSinceNs: number;
}

/**
 * Requests are sent when they are due, whatever became of those before, up to 1024 on their way. Those of a sequence wait for each
 * other: there are `slotCount` sequences at a time, and each request goes to the one that has waited longest. 0: the model has
 * none. What is held up here is sent when it can be, and the time it waits counts.
 */
export function startScheduledLoad(arrivals: Arrivals, slotCount: number, context: LoadContext): Load {
  const { clock, source } = context;
  const sender = createSender(context);
  const isOrdered = slotCount > 0;
  const lanes = Array.from({ length: isOrdered ? slotCount : MOST_ON_THE_WAY }, (): Lane => ({
    requests: source.slot(),
    idleSinceNs: -Infinity,
  }));
  const idle = [...lanes];
  const running = new Set<Promise<void>>();
  let dueNs = clock.nowNs();
  let isHeldUp = false;
  let cancel = (): void => undefined;

  async function carry(lane: Lane, atNs: number): Promise<void> {
    const delayNs = Math.max(clock.nowNs() - Math.max(atNs, lane.idleSinceNs), 0);
    await sender.send(lane.requests.next(), { atNs, delayNs });
    if (isOrdered) lane.idleSinceNs = clock.nowNs();
    idle.push(lane);
    if (!isHeldUp) return;
    isHeldUp = false;
    sendDue();
  }

  function sendDue(): void {
    while (dueNs <= clock.nowNs()) {
      const lane = idle.shift();
      isHeldUp = lane === undefined;
      if (lane === undefined || !sender.take()) return;
      const sent = carry(lane, dueNs);
      running.add(sent);
      void sent.then(() => running.delete(sent));
      dueNs += arrivals();
    }
    cancel = clock.after(dueNs - clock.nowNs(), sendDue);
  }

  sendDue();
  return {
    stop: async () => {
      cancel();
      sender.close();
      await Promise.all(running);
      // Lanes of a model without sequences have none that is open.
      const ends = lanes.map(({ requests }) => requests.end()).filter((request) => request !== undefined);
      await Promise.all(ends.map((request) => sender.send(request, { atNs: clock.nowNs(), delayNs: 0 })));
    },
  };
}
