import type { CancelTimer, Clock } from "@naiad/core";
import type { ReplayClass } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

/** What identifies an exchange when a browser dispatches it again to a restarted service worker. */
export interface RepeatableExchange {
  /** Client, method, target and body hash together. */
  readonly key: string;
  readonly gatewayId: string;
  readonly replay: ReplayClass;
}

/**
 * Runs each exchange once, even where it is delivered twice. A plain `fetch` carries no id, and Chromium silently
 * dispatches it again when the service worker died under it; so an equal exchange from *another* gateway joins the one
 * that is still running. From the same gateway it is simply a second request.
 */
export interface RepeatedRequests<Answer> {
  /**
   * The answer of `run`, or of the equal exchange that this one repeats. `signal` ends this wait; the run itself is
   * aborted when nobody waits for it any more.
   */
  handle(
    exchange: RepeatableExchange,
    signal: AbortSignal,
    run: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer>;
  /**
   * To be called before the waits of that gateway are aborted: their runs become orphans, go on for a while and keep
   * their answers until an equal exchange adopts them.
   */
  gatewayDied(gatewayId: string): void;
  /** Ends every run. */
  stop(): void;
}

export interface RepeatedRequestsOptions<Answer> {
  readonly clock: Clock;
  /** How long an orphan waits to be adopted, running or answered. */
  readonly orphanMs: number;
  /** How long an operation that changes the server is answered from its first run's record. */
  readonly recordMs: number;
  /** A copy for another receiver, or `undefined` for an answer that cannot be given twice, such as a stream. */
  readonly copy: (answer: Answer) => Answer | undefined;
  /** Frees an answer that nobody came for. */
  readonly drop: (answer: Answer) => void;
}

type Settled<Answer> =
  { readonly kind: "answer"; readonly answer: Answer } | { readonly kind: "error"; readonly error: unknown };

interface Waiter<Answer> {
  readonly gatewayId: string;
  settle(settled: Settled<Answer>): void;
}

interface Run<Answer> {
  readonly exchange: RepeatableExchange;
  readonly controller: AbortController;
  /** Every gateway that has sent it so far: the next delivery comes from yet another. */
  readonly gateways: Set<string>;
  readonly waiters: Set<Waiter<Answer>>;
  /** Kept for whoever repeats it. */
  record: { readonly settled: Settled<Answer>; readonly wasDelivered: boolean } | undefined;
  expiry: CancelTimer | undefined;
}

export function createRepeatedRequests<Answer>(
  options: RepeatedRequestsOptions<Answer>,
): RepeatedRequests<Answer> {
  const runs = new Set<Run<Answer>>();

  function forget(run: Run<Answer>): void {
    if (!runs.delete(run)) return;
    run.expiry?.();
    if (run.record?.settled.kind === "answer") options.drop(run.record.settled.answer);
    run.controller.abort(new InferenceError("CANCELLED", "request was cancelled"));
  }

  function expireAfter(run: Run<Answer>, delayMs: number): void {
    run.expiry?.();
    run.expiry = options.clock.after(delayMs * 1e6, () => {
      forget(run);
    });
  }

  /** Equal exchanges of one client may be under way at the same time: each repetition joins one of them. */
  function repeated({ key, gatewayId }: RepeatableExchange): Run<Answer> | undefined {
    for (const run of runs) if (run.exchange.key === key && !run.gateways.has(gatewayId)) return run;
    return undefined;
  }

  function begin(exchange: RepeatableExchange, work: (signal: AbortSignal) => Promise<Answer>): Run<Answer> {
    // What was answered before describes the server before this change: repeated from now on it would lie.
    if (exchange.replay === "control") {
      for (const run of [...runs]) if (run.record?.wasDelivered === true) forget(run);
    }
    const controller = new AbortController();
    const run: Run<Answer> = {
      exchange,
      controller,
      gateways: new Set(),
      waiters: new Set(),
      record: undefined,
      expiry: undefined,
    };
    runs.add(run);
    settledOf(() => work(controller.signal)).then(
      (settled) => {
        finish(run, settled);
      },
      () => {
        // It never rejects.
      },
    );
    return run;
  }

  function finish(run: Run<Answer>, settled: Settled<Answer>): void {
    if (!runs.has(run)) {
      if (settled.kind === "answer") options.drop(settled.answer);
      return;
    }
    const waiters = [...run.waiters];
    run.waiters.clear();
    if (waiters.length === 0) {
      // An orphan: its time to be adopted runs already.
      run.record = { settled, wasDelivered: false };
      return;
    }
    if (run.exchange.replay === "control" && repeatable(settled)) {
      run.record = { settled, wasDelivered: true };
      expireAfter(run, options.recordMs);
    } else {
      runs.delete(run);
      waiters.pop()?.settle(settled);
    }
    for (const waiter of waiters) waiter.settle(copyOf(settled));
  }

  function repeatable(settled: Settled<Answer>): boolean {
    return settled.kind === "error" || options.copy(settled.answer) !== undefined;
  }

  function copyOf(settled: Settled<Answer>): Settled<Answer> {
    if (settled.kind === "error") return settled;
    const answer = options.copy(settled.answer);
    if (answer !== undefined) return { kind: "answer", answer };
    const text = "the answer to this request went to another service worker";
    return { kind: "error", error: new InferenceError("UNAVAILABLE", text) };
  }

  /** From a record: an orphan's answer is handed over, a control operation's stays for the rest of its time. */
  function recall(run: Run<Answer>, settled: Settled<Answer>): Settled<Answer> {
    if (run.exchange.replay === "control" && repeatable(settled)) {
      run.record = { settled, wasDelivered: true };
      return copyOf(settled);
    }
    run.expiry?.();
    runs.delete(run);
    return settled;
  }

  return {
    handle(exchange, signal, work) {
      const run = repeated(exchange) ?? begin(exchange, work);
      run.gateways.add(exchange.gatewayId);
      return new Promise((resolve, reject) => {
        const waiter: Waiter<Answer> = {
          gatewayId: exchange.gatewayId,
          settle(settled) {
            signal.removeEventListener("abort", leave);
            if (settled.kind === "answer") resolve(settled.answer);
            else reject(InferenceError.from(settled.error));
          },
        };
        function leave(): void {
          reject(new InferenceError("CANCELLED", "request was cancelled", { cause: signal.reason }));
          // One that was orphaned before its signal fired is no waiter any more and leaves the run alone.
          if (run.waiters.delete(waiter) && run.waiters.size === 0) forget(run);
        }
        if (run.record !== undefined) {
          waiter.settle(recall(run, run.record.settled));
          return;
        }
        run.expiry?.();
        run.expiry = undefined;
        run.waiters.add(waiter);
        signal.addEventListener("abort", leave, { once: true });
        if (signal.aborted) leave();
      });
    },

    gatewayDied(gatewayId) {
      for (const run of runs) {
        const before = run.waiters.size;
        for (const waiter of run.waiters) if (waiter.gatewayId === gatewayId) run.waiters.delete(waiter);
        if (before > 0 && run.waiters.size === 0) expireAfter(run, options.orphanMs);
      }
    },

    stop() {
      for (const run of [...runs]) {
        const stopped = new InferenceError("UNAVAILABLE", "the server is stopping");
        for (const waiter of run.waiters) waiter.settle({ kind: "error", error: stopped });
        run.waiters.clear();
        forget(run);
      }
    },
  };
}

async function settledOf<Answer>(work: () => Promise<Answer>): Promise<Settled<Answer>> {
  try {
    return { kind: "answer", answer: await work() };
  } catch (error) {
    return { kind: "error", error };
  }
}
