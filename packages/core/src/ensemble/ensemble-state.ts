import type { InferenceError, SequenceFlags, Tensor } from "@naiad/protocol";
import { unreachable } from "@naiad/protocol";
import type { EnsemblePlan, EnsembleStep } from "./ensemble-plan.ts";
import { neededSteps } from "./ensemble-plan.ts";

/** A tensor of the ensemble between the step that wrote it and those that read it. */
export interface EnsembleTensor {
  /** `undefined`: absent. An optional input that was not given, or an output that a model left out. */
  readonly tensor: Tensor | undefined;
  /** Rows of the request that it came from; 0 where that had no batch dimension. */
  readonly batchSize: number;
  /** For the requests that read it; `undefined`: as the ensemble's request has it. */
  readonly sequence: SequenceFlags | undefined;
}

/** One request to a model. */
export interface IssuedStep {
  /** Not equal for two steps of one request of the ensemble. */
  readonly id: number;
  readonly step: EnsembleStep;
  /** Of the responses of a decoupled model; what belongs together has the same. */
  readonly iteration: number;
  /** By input of the model. Tensors are shared by all steps that read them. */
  readonly inputs: ReadonlyMap<string, EnsembleTensor>;
  readonly sequence: SequenceFlags | undefined;
}

export interface StepResponse {
  /** By output of the model, in the shape that its clients see. */
  readonly outputs: ReadonlyMap<string, Tensor>;
  readonly batchSize: number;
  readonly sequence: SequenceFlags | undefined;
}

export type EnsembleEvent =
  | {
      readonly kind: "start";
      readonly inputs: readonly Tensor[];
      readonly batchSize: number;
    }
  /** The only response of a step, or one of a decoupled step, which goes on. */
  | { readonly kind: "response"; readonly issued: IssuedStep; readonly response: StepResponse }
  /** A decoupled step has no more responses. */
  | { readonly kind: "end"; readonly issued: IssuedStep }
  /** A decoupled step had an error among its responses, and goes on. */
  | { readonly kind: "fault"; readonly error: InferenceError }
  | { readonly kind: "failed"; readonly issued: IssuedStep; readonly error: InferenceError };

export interface EnsembleDecision {
  readonly state: EnsembleState;
  /** To be issued now, side by side. */
  readonly issue: readonly IssuedStep[];
  /** Of the ensemble, by output. An output is `undefined` where it is absent. */
  readonly responses: readonly ReadonlyMap<string, EnsembleTensor>[];
  /** Nothing is in flight any more, and nothing will be. */
  readonly ending: Ending | undefined;
}

/**
 * `failed`: the first error, once everything else has ended. `deadlock`: no step can go on although the request was not
 * answered, which validation makes impossible but for models that break their word.
 */
export type Ending =
  | { readonly kind: "answered" }
  | { readonly kind: "failed"; readonly error: InferenceError }
  | { readonly kind: "deadlock" };

/** Where one request of an ensemble stands. Only `advance` looks inside. */
export interface EnsembleState {
  readonly plan: EnsemblePlan;
  readonly requested: readonly string[];
  readonly needed: ReadonlySet<EnsembleStep>;
  readonly tensors: ReadonlyMap<string, Copy>;
  readonly inFlight: ReadonlySet<number>;
  readonly failure: InferenceError | undefined;
  readonly responded: boolean;
  readonly nextId: number;
  readonly nextIteration: number;
}

/** A tensor of one iteration, as long as somebody is still to read it. */
interface Copy extends EnsembleTensor {
  readonly name: string;
  readonly iteration: number;
  /** Steps still to be issued with it, and the response if it is in it. */
  readonly readers: number;
}

const FIRST_ITERATION = 0;

/** `requested`: outputs of the ensemble that the request wants. Steps that only others need are never issued. */
export function initialState(plan: EnsemblePlan, requested: readonly string[]): EnsembleState {
  return {
    plan,
    requested,
    needed: neededSteps(plan, requested),
    tensors: new Map(),
    inFlight: new Set(),
    failure: undefined,
    responded: false,
    nextId: 0,
    nextIteration: FIRST_ITERATION + 1,
  };
}

/**
 * What to do after an event. A step is issued once everything it reads is there, of the same iteration; absent tensors
 * count as there. After the first error nothing more is issued.
 */
export function advance(state: EnsembleState, event: EnsembleEvent): EnsembleDecision {
  switch (event.kind) {
    case "start":
      return proceed(state, startTensors(state, event), FIRST_ITERATION);
    case "response": {
      const { issued } = event;
      const { decoupled } = issued.step;
      const iteration = decoupled ? state.nextIteration : issued.iteration;
      const next: EnsembleState = decoupled
        ? { ...state, nextIteration: iteration + 1 }
        : { ...state, inFlight: without(state.inFlight, issued.id) };
      return proceed(next, writtenTensors(event), iteration);
    }
    case "end":
      return decide({ ...state, inFlight: without(state.inFlight, event.issued.id) });
    case "fault":
      return decide({ ...state, failure: state.failure ?? event.error });
    case "failed":
      return decide({
        ...state,
        inFlight: without(state.inFlight, event.issued.id),
        failure: state.failure ?? event.error,
      });
    default:
      return unreachable(event);
  }
}

/** Tensors that somebody is still to read: a step that is to come, or the response. */
export function unreadTensors({ tensors }: EnsembleState): readonly Tensor[] {
  return [...tensors.values()].flatMap(({ tensor }) => tensor ?? []);
}

type NamedTensors = ReadonlyMap<string, EnsembleTensor>;

function startTensors(
  { plan }: EnsembleState,
  { inputs, batchSize }: Extract<EnsembleEvent, { readonly kind: "start" }>,
): NamedTensors {
  const written = new Map<string, EnsembleTensor>();
  const entry = (tensor: Tensor | undefined): EnsembleTensor => ({ tensor, batchSize, sequence: undefined });
  for (const name of plan.optionalInputs) written.set(name, entry(undefined));
  for (const input of inputs) written.set(input.name, entry(input));
  return written;
}

function writtenTensors({
  issued,
  response: { outputs, batchSize, sequence },
}: Extract<EnsembleEvent, { readonly kind: "response" }>): NamedTensors {
  return new Map(
    issued.step.outputs.map(({ name, tensor }) => [
      tensor,
      { tensor: outputs.get(name), batchSize, sequence: sequence ?? issued.sequence },
    ]),
  );
}

/** Takes in what was written, issues what can go on with it, and answers if that completes an answer. */
function proceed(state: EnsembleState, written: NamedTensors, iteration: number): EnsembleDecision {
  if (state.failure !== undefined) return decide(state);
  const tensors = new Map(state.tensors);
  for (const [name, tensor] of written) {
    const readers = readersOf(state, name);
    if (readers > 0) tensors.set(keyOf(name, iteration), { ...tensor, name, iteration, readers });
  }

  const issue: IssuedStep[] = [];
  for (const step of state.needed) {
    const reads = step.inputs.map(({ tensor }) => tensor);
    if (!reads.some((name) => written.has(name))) continue;
    const copies = reads.map((name) => tensors.get(keyOf(name, iteration)));
    if (!copies.every((copy) => copy !== undefined)) continue;
    issue.push({
      id: state.nextId + issue.length,
      step,
      iteration,
      inputs: new Map(step.inputs.flatMap(({ name }, index) => entryOf(name, copies[index]))),
      sequence: copies.find(({ sequence }) => sequence !== undefined)?.sequence,
    });
    for (const copy of new Set(copies)) release(tensors, copy);
  }

  const responses: NamedTensors[] = [];
  const answer = state.requested.map((name) => tensors.get(keyOf(name, iteration)));
  const completes = state.requested.some((name) => written.has(name));
  if (completes && answer.every((copy) => copy !== undefined)) {
    responses.push(new Map(state.requested.flatMap((name, index) => entryOf(name, answer[index]))));
    for (const copy of answer) release(tensors, copy);
  }

  const next: EnsembleState = {
    ...state,
    tensors,
    inFlight: new Set([...state.inFlight, ...issue.map(({ id }) => id)]),
    responded: state.responded || responses.length > 0,
    nextId: state.nextId + issue.length,
  };
  return { ...decide(next), issue, responses };
}

function decide(state: EnsembleState): EnsembleDecision {
  return { state, issue: [], responses: [], ending: state.inFlight.size > 0 ? undefined : endingOf(state) };
}

function endingOf({ failure, responded, plan }: EnsembleState): Ending {
  if (failure !== undefined) return { kind: "failed", error: failure };
  return responded || plan.decoupled ? { kind: "answered" } : { kind: "deadlock" };
}

function readersOf({ needed, requested }: EnsembleState, name: string): number {
  let readers = requested.includes(name) ? 1 : 0;
  for (const { inputs } of needed) if (inputs.some(({ tensor }) => tensor === name)) readers += 1;
  return readers;
}

function release(tensors: Map<string, Copy>, copy: Copy): void {
  const key = keyOf(copy.name, copy.iteration);
  const current = tensors.get(key);
  if (current === undefined) return;
  if (current.readers <= 1) tensors.delete(key);
  else tensors.set(key, { ...current, readers: current.readers - 1 });
}

function keyOf(name: string, iteration: number): string {
  return `${String(iteration)} ${name}`;
}

function entryOf(name: string, tensor: EnsembleTensor | undefined): readonly [string, EnsembleTensor][] {
  return tensor === undefined ? [] : [[name, tensor]];
}

function without(ids: ReadonlySet<number>, id: number): ReadonlySet<number> {
  const rest = new Set(ids);
  rest.delete(id);
  return rest;
}
