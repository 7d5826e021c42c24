import type { CancelTimer, Clock, ExecuteContext, InstanceOutcome } from "@naiad/core";
import type { Channel, ChannelHandlers } from "@naiad/link";
import type { ExecutedRequest, InstanceContract, InstanceHostContract } from "../contracts.ts";
import { RESPONSE_CREDITS } from "../contracts.ts";

type Notes = Pick<ChannelHandlers<InstanceHostContract>["notes"], "response" | "end">;

/** The host's ends of the responses of decoupled requests in one worker. */
export interface ResponseInlets {
  readonly notes: Notes;
  /** Executions that are not over, or of which decoupled requests are open. */
  readonly openCount: number;
  /** The id under which the worker tells of this execution from now on. */
  open(context: ExecuteContext): number;
  /** From now on only those of its requests are open whose outcome is `decoupled`. */
  executed(executionId: number, outcomes: readonly InstanceOutcome[]): void;
  /** The worker is gone; what becomes of its requests is for others to say. */
  clear(): void;
}

interface OpenExecution {
  readonly context: ExecuteContext;
  /** Its model has returned; only decoupled requests are left. */
  isOver: boolean;
  readonly requests: Map<number, OpenRequest>;
}

interface OpenRequest {
  /** Responses taken since the worker was last given credit. */
  taken: number;
  stopWatching(): void;
}

export interface ResponseInletsOptions {
  readonly worker: () => Pick<Channel<InstanceContract>, "notify">;
  /** The last request of an execution that was over has ended. */
  readonly onClosed: () => void;
  readonly clock: Clock;
  /** A model that has returned from a request's execution has not ended it, long after it was cancelled. */
  readonly onLeftOpen: () => void;
}

/** How long after a cancel a model may take to say its last. */
export const LEFT_OPEN_MS = 10_000;

/** Credit goes back in halves: a note for each response would double the traffic. */
const CREDIT_EVERY = RESPONSE_CREDITS / 2;

export function createResponseInlets({
  worker,
  onClosed,
  clock,
  onLeftOpen,
}: ResponseInletsOptions): ResponseInlets {
  const executions = new Map<number, OpenExecution>();
  let lastId = 0;

  function watched(request: ExecutedRequest, signal: AbortSignal | undefined): OpenRequest {
    let stopTimer: CancelTimer = () => undefined;
    const cancel = (): void => {
      worker().notify("cancel", request);
      stopTimer = clock.after(LEFT_OPEN_MS * 1e6, () => {
        if (executions.get(request.executionId)?.isOver === true) onLeftOpen();
      });
    };
    if (signal?.aborted === true) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
    return {
      taken: 0,
      stopWatching: () => {
        signal?.removeEventListener("abort", cancel);
        stopTimer();
      },
    };
  }

  function close({ executionId, index }: ExecutedRequest): void {
    const execution = executions.get(executionId);
    execution?.requests.get(index)?.stopWatching();
    if (execution?.requests.delete(index) !== true || execution.requests.size > 0) return;
    executions.delete(executionId);
    onClosed();
  }

  function taken({ executionId, index }: ExecutedRequest): void {
    const request = executions.get(executionId)?.requests.get(index);
    if (request === undefined) return;
    request.taken += 1;
    if (request.taken < CREDIT_EVERY) return;
    worker().notify("credit", { executionId, index, count: request.taken });
    request.taken = 0;
  }

  return {
    notes: {
      response: ({ response, final, ...request }) => {
        const { executionId, index } = request;
        const execution = executions.get(executionId);
        if (execution?.requests.has(index) !== true) return;
        if (final) close(request);
        const { responses } = execution.context;
        void responses.response(index, response, final ? { final } : {}).then(() => {
          taken(request);
        });
      },
      end: ({ error, ...request }) => {
        const execution = executions.get(request.executionId);
        if (execution?.requests.has(request.index) !== true) return;
        close(request);
        execution.context.responses.end(request.index, error);
      },
    },
    get openCount() {
      return executions.size;
    },
    open(context) {
      lastId += 1;
      const executionId = lastId;
      const requests = context.signals.map((signal, index) => watched({ executionId, index }, signal));
      executions.set(executionId, { context, isOver: false, requests: new Map(requests.entries()) });
      return executionId;
    },
    executed(executionId, outcomes) {
      const execution = executions.get(executionId);
      if (execution === undefined) return;
      execution.isOver = true;
      for (const index of [...execution.requests.keys()]) {
        if (outcomes[index]?.kind !== "decoupled") close({ executionId, index });
      }
    },
    clear() {
      for (const { requests } of executions.values()) {
        for (const request of requests.values()) request.stopWatching();
      }
      executions.clear();
    },
  };
}
