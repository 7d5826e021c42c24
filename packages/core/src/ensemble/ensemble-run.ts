import type { ModelSignature } from "@naiad/model-config";
import { hasSequenceId, InferenceError, requestIdPrefix } from "@naiad/protocol";
import type { Tensor } from "@naiad/protocol";
import type { Clock, ExecutionTimes } from "../ports.ts";
import { cancelled } from "../scheduling/accepted-requests.ts";
import type { ScheduledRequest } from "../scheduling/scheduler.ts";
import { createDeviceLeases } from "./device-leases.ts";
import { ensembleAnswer } from "./ensemble-answer.ts";
import type { EnsemblePlan, EnsembleStep } from "./ensemble-plan.ts";
import type { EnsembleEvent, Ending, IssuedStep } from "./ensemble-state.ts";
import { advance, initialState, unreadTensors } from "./ensemble-state.ts";
import type { FindServing, HeldModels } from "./held-models.ts";
import { holdModels } from "./held-models.ts";
import { issueStep } from "./issue-step.ts";
import { keptOutputs } from "./kept-outputs.ts";
import type { ModelResponse } from "./step-request.ts";
import type { StepSlots } from "./step-slots.ts";

export interface EnsembleRunContext {
  readonly plan: EnsemblePlan;
  readonly signature: ModelSignature;
  readonly find: FindServing;
  readonly slots: StepSlots;
  readonly clock: Clock;
}

/** What became of a request of an ensemble. `times`: what its models took for it altogether. */
export type EnsembleResult =
  /** `answer` is absent for a decoupled ensemble, whose responses went another way. */
  | { readonly kind: "answered"; readonly answer?: ModelResponse; readonly times: ExecutionTimes }
  | { readonly kind: "error"; readonly error: InferenceError };

/**
 * Carries out what `advance` decides for one request: issues steps to the schedulers of their models and tells it what
 * became of them. Until `finish` is called, once and maybe before this returns, the versions in use stay loaded.
 *
 * A decoupled model is told to go on when every step that its response led to has been issued, and when the reader of the
 * ensemble's own responses has room.
 *
 * Tensors that models leave on a device belong to the request until no step is to read them and none that reads them is
 * under way. When a step fails because the worker that held such a tensor has ended, everything is done once more from the
 * start, with tensors as bytes, where nobody can tell: no sequence, nothing decoupled, no model that remembers.
 */
export function runEnsemble(
  scheduled: ScheduledRequest,
  { plan, signature, find, slots, clock }: EnsembleRunContext,
  finish: (result: EnsembleResult) => void,
): void {
  const { request, signal, trace } = scheduled;
  const times = { computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 };
  const events: EnsembleEvent[] = [];
  const leases = createDeviceLeases();
  /** Steps that their models have not answered. */
  const running = new Set<IssuedStep>();
  /** Errors of steps that read what was lost with its worker. */
  const losses = new Set<InferenceError>();
  let isRepetition = false;
  /** Steps that wait for a slot, with how to give the wait up. */
  const waiting = new Map<IssuedStep, () => void>();
  const onNoneWaiting: (() => void)[] = [];
  let state = initialState(plan, request.outputs);
  let answer: ModelResponse | undefined;
  let sending: Promise<void> = Promise.resolve();
  let isHandling = false;
  let isOver = false;
  let models: HeldModels;

  try {
    models = holdModels(state.needed, find);
  } catch (thrown) {
    finish({ kind: "error", error: inEnsemble(plan, InferenceError.from(thrown)) });
    return;
  }
  signal.addEventListener("abort", giveUpWaiting);
  begin();

  function begin(): void {
    state = initialState(plan, request.outputs);
    dispatch({ kind: "start", inputs: request.inputs, batchSize: request.batchSize });
  }

  /** In the order they happen, also those that happen while a step is issued. */
  function dispatch(event: EnsembleEvent): void {
    events.push(event);
    if (isHandling) return;
    isHandling = true;
    for (let next = events.shift(); next !== undefined; next = events.shift()) handle(next);
    isHandling = false;
    leases.keepOnly(tensorsInUse);
  }

  function* tensorsInUse(): Iterable<Tensor> {
    yield* unreadTensors(state);
    for (const { inputs } of [...running, ...waiting.keys()]) {
      for (const { tensor } of inputs.values()) if (tensor !== undefined) yield tensor;
    }
  }

  function handle(event: EnsembleEvent): void {
    const decision = advance(state, event);
    ({ state } = decision);
    for (const response of decision.responses) send(ensembleAnswer(response, request, signature));
    for (const issued of decision.issue) issue(issued);
    if (state.failure !== undefined) giveUpWaiting();
    if (decision.ending !== undefined) end(decision.ending);
  }

  function send(response: ModelResponse): void {
    const { onResponse } = scheduled;
    if (onResponse === undefined || !plan.decoupled) answer = response;
    else sending = sending.then(() => (isOver ? undefined : onResponse({ kind: "response", ...response })));
  }

  function issue(issued: IssuedStep): void {
    const giveUp = slots.enter(issued.step.index, () => {
      waitsNoMore(issued);
      run(issued);
    });
    if (giveUp !== undefined) waiting.set(issued, giveUp);
  }

  function giveUpWaiting(): void {
    for (const [issued, giveUp] of waiting) {
      giveUp();
      waitsNoMore(issued);
      dispatch({ kind: "failed", issued, error: state.failure ?? cancelled(request.id) });
    }
  }

  function waitsNoMore(issued: IssuedStep): void {
    waiting.delete(issued);
    if (waiting.size === 0) for (const resolve of onNoneWaiting.splice(0)) resolve();
  }

  /** Until there is room for another response of a decoupled model. */
  async function room(): Promise<void> {
    if (waiting.size > 0) await new Promise<void>((resolve) => onNoneWaiting.push(resolve));
    await sending;
  }

  function keepOnDevice(step: EnsembleStep): readonly string[] {
    if (isRepetition) return [];
    const workersOf = (other: EnsembleStep): ReadonlySet<string> =>
      models.of(other).deviceWorkers?.() ?? NONE;
    return keptOutputs(step, { plan, needed: state.needed, requested: request.outputs, workersOf });
  }

  function run(issued: IssuedStep): void {
    const { step } = issued;
    running.add(issued);
    issueStep(
      issued,
      {
        request,
        signal,
        trace,
        clock,
        target: () => ({ model: models.of(step), keepOnDevice: keepOnDevice(step) }),
      },
      {
        onEvent: dispatch,
        room,
        onSuccess: (outcome) => {
          addTimes(times, outcome.times);
          if (outcome.kind === "response") leases.take(outcome.outputs, outcome.deviceMemory);
        },
        onEnd: (event) => {
          leave(issued, event);
        },
      },
    );
  }

  function leave(issued: IssuedStep, event: EnsembleEvent): void {
    const read = [...issued.inputs.values()].flatMap(({ tensor }) => tensor ?? []);
    if (event.kind === "failed" && read.some((tensor) => leases.isLost(tensor))) losses.add(event.error);
    running.delete(issued);
    // An error gives up who waits before there is room for one of them.
    dispatch(event);
    slots.leave(issued.step.index);
  }

  function end(ending: Ending): void {
    if (ending.kind === "failed" && losses.has(ending.error) && mayRepeat()) {
      isRepetition = true;
      begin();
      return;
    }
    leases.keepOnly(() => []);
    signal.removeEventListener("abort", giveUpWaiting);
    models.release();
    const result = resultOf(ending);
    const over = (): void => {
      isOver = true;
      finish(result);
    };
    // Whoever has given up reads nothing any more.
    if (plan.decoupled && !signal.aborted) void sending.then(over);
    else over();
  }

  function mayRepeat(): boolean {
    if (isRepetition || plan.decoupled || hasSequenceId(request.sequence) || signal.aborted) return false;
    return [...state.needed].every((step) => models.of(step).isRepeatable === true);
  }

  function resultOf(ending: Ending): EnsembleResult {
    switch (ending.kind) {
      case "failed":
        return { kind: "error", error: inEnsemble(plan, ending.error) };
      case "deadlock": {
        const message = `${requestIdPrefix(request.id)}${DEADLOCK}`;
        return { kind: "error", error: inEnsemble(plan, new InferenceError("INVALID_ARG", message)) };
      }
      case "answered":
        return { kind: "answered", times, ...(answer !== undefined && { answer }) };
    }
  }
}

const NONE: ReadonlySet<string> = new Set();

const DEADLOCK =
  "unexpected deadlock, at least one output is not set while no more ensemble steps can be made";

function inEnsemble({ ensembleName }: EnsemblePlan, error: InferenceError): InferenceError {
  const { code, message, retryAfterSecs } = error;
  return new InferenceError(code, `in ensemble '${ensembleName}', ${message}`, {
    cause: error,
    retryAfterSecs,
  });
}

function addTimes(
  sum: { computeInputNs: number; computeInferNs: number; computeOutputNs: number },
  times: ExecutionTimes,
): void {
  sum.computeInputNs += times.computeInputNs;
  sum.computeInferNs += times.computeInferNs;
  sum.computeOutputNs += times.computeOutputNs;
}
