import type { ExecuteContext, ExecutionTimes, InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { LogLevel, WireError } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { RESPONSE_COMPLETE_FINAL } from "./model/flags.ts";
import type { InferenceResponse } from "./model/inference-response.ts";
import type { ExecuteResult, Model } from "./model/model.ts";
import type { JavaScriptExecution } from "./instance.ts";
import type { ReceivedRequest } from "./received-request.ts";
import { receiveRequest } from "./received-request.ts";
import type { ResponseTarget } from "./response-outcome.ts";
import { responseOutcome } from "./response-outcome.ts";
import { createResponseSender } from "./response-sender.ts";
import { checkDecoupledReturn, responsesOf } from "./returned-responses.ts";

export interface ExecutionOptions {
  readonly model: Model;
  readonly modelName: string;
  readonly instanceName: string;
  /** Of the model's main file, for texts. */
  readonly path: string;
  readonly decoupled: boolean;
  readonly batching: boolean;
  /** Whether a request may ask to be executed again. */
  readonly iterative: boolean;
  readonly describe: (thrown: unknown) => string;
  readonly log: (level: LogLevel, message: string) => void;
  readonly traceActivity: (traceId: number, activity: string) => void;
  /** 1 when a batch begins, -1 when nothing of it is left to answer. */
  readonly onActivity: (change: 1 | -1) => void;
}

type Execute = (
  requests: readonly InstanceRequest[],
  context: ExecuteContext,
) => Promise<JavaScriptExecution>;

/** How a model's `execute` is called and what becomes of what it does. */
export function createExecution(options: ExecutionOptions): Execute {
  return options.decoupled
    ? (requests, context) => executeDecoupled(requests, context, options)
    : (requests, context) => executeBatch(requests, context, options);
}

async function executeBatch(
  requests: readonly InstanceRequest[],
  { signals }: ExecuteContext,
  options: ExecutionOptions,
): Promise<JavaScriptExecution> {
  const clock = createStopwatch();
  const batch = requests.map((request, index) => receiveMember(request, signals[index] ?? NEVER, options));
  clock.lap("computeInputNs");
  const result = await runBatch(batch, options);
  clock.lap("computeInferNs");
  const outcomes = batch.map((member, index) => outcomeOf(member, resultOf(result, index), options));
  clock.lap("computeOutputNs");
  return { outcomes, times: clock.times };
}

/** A request of a batch, and what the model has sent through its sender. */
interface BatchMember {
  readonly request: InstanceRequest;
  readonly received: ReceivedRequest;
  readonly sent: InferenceResponse | undefined;
  /** Resolves when the model has said its last through the sender. */
  readonly ended: Promise<void>;
}

function receiveMember(
  request: InstanceRequest,
  signal: AbortSignal,
  { traceActivity }: ExecutionOptions,
): BatchMember {
  let sent: InferenceResponse | undefined;
  let onEnd = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });
  const onResponse = (response: InferenceResponse): Promise<void> => {
    sent = response;
    return Promise.resolve();
  };
  const sender = createResponseSender({ decoupled: false, signal, onResponse, onEnd });
  return {
    request,
    received: receiveRequest(request, { signal, sender, traceActivity }),
    ended,
    get sent() {
      return sent;
    },
  };
}

/** What `execute` came to: a response for each request, or none where another way was taken; or a failure of them all. */
type BatchResult =
  | { readonly kind: "returned"; readonly responses: readonly (InferenceResponse | undefined)[] }
  | { readonly kind: "failed"; readonly error: WireError };

/** Executes, and waits for the senders of those requests that were not answered in the return. */
async function runBatch(batch: readonly BatchMember[], options: ExecutionOptions): Promise<BatchResult> {
  const received = batch.map((member) => member.received);
  options.onActivity(1);
  try {
    const responses = responsesOf(await call(options, received), received);
    const awaited = batch.filter(
      ({ received: { usesSender, isRescheduled } }, index) =>
        usesSender && !isRescheduled && responses[index] === undefined,
    );
    await Promise.all(awaited.map(({ ended }) => ended));
    return { kind: "returned", responses };
  } catch (thrown) {
    return { kind: "failed", error: failureOf(thrown, options) };
  } finally {
    options.onActivity(-1);
  }
}

/** The same for one request. */
type MemberResult =
  | { readonly kind: "returned"; readonly response: InferenceResponse | undefined }
  | { readonly kind: "failed"; readonly error: WireError };

function resultOf(result: BatchResult, index: number): MemberResult {
  return result.kind === "failed" ? result : { kind: "returned", response: result.responses[index] };
}

/** A request that was ended through its sender has its answer whatever became of the batch. */
function outcomeOf(
  { request, received: { sender, isRescheduled }, sent }: BatchMember,
  result: MemberResult,
  options: ExecutionOptions,
): InstanceOutcome {
  const returned = result.kind === "returned" ? result.response : undefined;
  try {
    if (sender.isClosed && sent !== undefined && returned === undefined) {
      return responseOutcome(sent, targetOf(request, options));
    }
    if (result.kind === "failed") return { kind: "error", error: result.error };
    if (isRescheduled) return { kind: "reschedule", outputs: [] };
    if (returned === undefined) throw new InferenceError("INTERNAL", UNANSWERED);
    // Refuses a second answer where the sender has given the first.
    void sender.send(returned, RESPONSE_COMPLETE_FINAL);
    return responseOutcome(returned, targetOf(request, options));
  } catch (thrown) {
    return { kind: "error", error: failureOf(thrown, options) };
  } finally {
    sender.close();
  }
}

const UNANSWERED = "execute has ended without a response, a response sender or a new turn for a request.";

async function executeDecoupled(
  requests: readonly InstanceRequest[],
  { signals, responses }: ExecuteContext,
  options: ExecutionOptions,
): Promise<JavaScriptExecution> {
  const clock = createStopwatch();
  let open = requests.length;
  const finished = (): void => {
    open -= 1;
    if (open === 0) options.onActivity(-1);
  };
  const received = requests.map((request, index) => {
    const signal = signals[index] ?? NEVER;
    const target = targetOf(request, options);
    const sender = createResponseSender({
      decoupled: true,
      signal,
      onResponse: (response, final) =>
        responses.response(index, responseOutcome(response, target), final ? { final: true } : {}),
      onEnd: (told) => {
        if (!told) responses.end(index);
        finished();
      },
    });
    const { traceActivity } = options;
    return receiveRequest(request, { signal, sender, traceActivity });
  });
  clock.lap("computeInputNs");

  /** Those of these requests that are still open get the error as their last answer. */
  const fail = (thrown: unknown, isMeant: (request: ReceivedRequest) => boolean): void => {
    const error = failureOf(thrown, options);
    for (const [index, request] of received.entries()) {
      const { sender } = request;
      if (sender.isClosed || !isMeant(request)) continue;
      sender.close();
      responses.end(index, error);
      finished();
    }
  };
  const run = async (): Promise<void> => {
    try {
      checkDecoupledReturn(await call(options, received), options.modelName);
    } catch (thrown) {
      fail(thrown, () => true);
    }
    // Triton's client would wait for ever.
    fail(
      new InferenceError("INTERNAL", UNANSWERED),
      ({ usesSender, isRescheduled }) => !usesSender && !isRescheduled,
    );
  };
  options.onActivity(1);
  const running = run();
  // Where a request may ask to be executed again, that is known only at the end; otherwise the next batch may come.
  if (options.iterative) await running;
  clock.lap("computeInferNs");
  const outcomes = received.map(({ sender, isRescheduled }): InstanceOutcome => {
    if (!isRescheduled || sender.isClosed) return { kind: "decoupled" };
    sender.close();
    finished();
    return { kind: "reschedule", outputs: [] };
  });
  return { outcomes, times: clock.times };
}

/** What `execute` returns. Throws where there is none, and what it throws. */
async function call(
  { model, path }: ExecutionOptions,
  received: readonly ReceivedRequest[],
): Promise<ExecuteResult> {
  // That a model has none shows only now, as in Triton.
  if (typeof Reflect.get(model, "execute") !== "function") {
    throw new InferenceError("INTERNAL", `JavaScript model ${path} does not implement \`execute\` method.`);
  }
  return await model.execute(received.map(({ given }) => given));
}

function targetOf(
  { outputs, batchSize }: InstanceRequest,
  { modelName, batching, decoupled }: ExecutionOptions,
): ResponseTarget {
  return { modelName, outputs, ...(batching && !decoupled && { rows: batchSize }) };
}

/** What is wrong with the call itself is told as it is, what the model threw with its type and place. */
function failureOf(thrown: unknown, { instanceName, describe }: ExecutionOptions): WireError {
  const text = thrown instanceof InferenceError ? thrown.message : describe(thrown);
  return {
    code: "INTERNAL",
    message: `Failed to process the request(s) for model '${instanceName}', message: ${text}`,
  };
}

const NEVER = new AbortController().signal;

interface Stopwatch {
  /** Counts the time since the last lap as spent on `phase`. */
  lap(phase: keyof ExecutionTimes): void;
  readonly times: ExecutionTimes;
}

function createStopwatch(): Stopwatch {
  const times = { computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 };
  let last = performance.now();
  return {
    times,
    lap(phase) {
      const now = performance.now();
      times[phase] += Math.round((now - last) * 1e6);
      last = now;
    },
  };
}
