import type { BytesTensor, InferenceRequest, SequenceFlags } from "@naiad/protocol";
import type { PerfDataSet, PerfStep } from "./data-set.ts";
import type { PerfModel } from "./perf-model.ts";
import type { Random } from "./random.ts";

export interface SequenceOptions {
  /** Steps of a sequence, on average; with data from a file and where it is absent: of the stream. */
  readonly length?: number;
  /** How far lengths differ from it, in percent. */
  readonly lengthVariation: number;
  /** Ids are taken from here in turn; `end` is the first that is not used, absent: there are always more. */
  readonly idRange: { readonly start: number; readonly end?: number };
}

/** A request, and what is to become of it. It is sent again and again where it is the same. */
export interface PlannedRequest {
  readonly request: InferenceRequest;
  /** Outputs that must be answered; absent: any will do. */
  readonly expected?: readonly BytesTensor[];
}

/** Decides what is sent next. A slot sends one request after the other; sequences keep to their slot. */
export interface RequestSource {
  slot(): RequestSlot;
}

export interface RequestSlot {
  next(): PlannedRequest;
  /** The request that ends the sequence which is open here, if one is. */
  end(): PlannedRequest | undefined;
}

export interface RequestSourceOptions {
  readonly model: PerfModel;
  readonly data: PerfDataSet;
  readonly sequences: SequenceOptions;
  /** Sent with every request. */
  readonly parameters: InferenceRequest["parameters"];
  readonly random: Random;
}

const DEFAULT_LENGTH = 20;

export function createRequestSource(options: RequestSourceOptions): RequestSource {
  return options.model.isSequence ? sequenceSource(options) : plainSource(options);
}

function plainSource(options: RequestSourceOptions): RequestSource {
  const steps = options.data.streams.flat();
  const requests = steps.map((step) => requestOf(step, options));
  let sent = 0;
  const slot: RequestSlot = {
    next: () => elementAt(requests, sent++),
    end: () => undefined,
  };
  return { slot: () => slot };
}

interface Sequence {
  readonly id: bigint;
  readonly length: number;
  readonly steps: readonly PerfStep[];
  sent: number;
}

function sequenceSource(options: RequestSourceOptions): RequestSource {
  const { data, sequences, random } = options;
  const { start, end } = sequences.idRange;
  let begun = 0;

  function begin(): Sequence {
    const steps = elementAt(data.streams, begun);
    const id = BigInt(start + (end === undefined ? begun : begun % (end - start)));
    begun += 1;
    return { id, length: lengthOf(steps), steps, sent: 0 };
  }

  function lengthOf(steps: readonly PerfStep[]): number {
    const isFromFile = data.streams.length > 1 || steps.length > 1;
    const average = sequences.length ?? (isFromFile ? steps.length : DEFAULT_LENGTH);
    if (isFromFile && sequences.length === undefined) return average;
    const spread = (sequences.lengthVariation / 100) * (2 * random() - 1);
    return Math.max(1, Math.round(average * (1 + spread)));
  }

  return {
    slot: () => {
      let open: Sequence | undefined;
      const send = (sequence: Sequence, { isLast }: { readonly isLast: boolean }): PlannedRequest => {
        const step = elementAt(sequence.steps, sequence.sent);
        const flags = { id: sequence.id, start: sequence.sent === 0, end: isLast };
        sequence.sent += 1;
        open = isLast ? undefined : sequence;
        return requestOf(step, options, flags);
      };
      return {
        next: () => {
          const sequence = open ?? begin();
          return send(sequence, { isLast: sequence.sent === sequence.length - 1 });
        },
        end: () => (open === undefined ? undefined : send(open, { isLast: true })),
      };
    },
  };
}

function requestOf(
  { expected, inputs, parameters }: PerfStep,
  { model, parameters: common }: RequestSourceOptions,
  sequence?: SequenceFlags,
): PlannedRequest {
  const request: InferenceRequest = {
    modelName: model.name,
    modelVersion: model.version,
    id: "",
    parameters: { ...common, ...parameters },
    ...(sequence !== undefined && { sequence }),
    inputs,
    outputs: [],
  };
  return { request, ...(expected !== undefined && { expected }) };
}

/** Round and round. */
function elementAt<Element>(list: readonly Element[], index: number): Element {
  const element = list[index % list.length];
  if (element === undefined) throw new Error("nothing to send");
  return element;
}
