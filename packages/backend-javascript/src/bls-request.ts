import type { Parameters, ParameterValue, SequenceFlags } from "@naiad/protocol";
import { sequenceOrNone } from "@naiad/protocol";
import { SEQUENCE_END, SEQUENCE_START } from "./model/flags.ts";
import { ModelError } from "./model/model-error.ts";
import type { InferRequest } from "./model/model.ts";
import { Tensor } from "./model/tensor.ts";
import type { ModelInferRequest } from "./model-host.ts";
import { ReceivedTrace } from "./received-trace.ts";
import { copyOf } from "./response-outcome.ts";
import { typeName } from "./response-sender.ts";

interface BlsRequest {
  /** Inputs are copied: the model keeps its arrays. */
  readonly wire: ModelInferRequest;
  /** The caller's own way to give it up. */
  readonly signal: AbortSignal | undefined;
}

/** Reads what a model asks for, which no type checker may have seen. Throws INVALID_ARG for what no server would take. */
export function readBlsRequest(given: unknown): BlsRequest {
  if (typeof given !== "object" || given === null) {
    throw invalid(`a BLS request must be an object, found type '${typeName(given)}'`);
  }
  const members: Readonly<Record<string, unknown>> = Object.fromEntries(Object.entries(given));
  for (const name of Object.keys(members)) {
    if (Object.hasOwn(READERS, name)) continue;
    throw invalid(`a BLS request has no member '${name}'; it has ${Object.keys(READERS).join(", ")}`);
  }
  const { modelName, modelVersion, inputs, requestedOutputNames, requestId, parameters, signal } = members;
  const sequence = sequenceOf(READERS.correlationId(members.correlationId), READERS.flags(members.flags));
  const priority = READERS.priority(members.priority);
  const timeoutUs = READERS.timeout(members.timeout);
  const traceParentId = READERS.trace(members.trace)?.id;
  return {
    wire: {
      modelName: READERS.modelName(modelName),
      modelVersion: READERS.modelVersion(modelVersion),
      id: READERS.requestId(requestId),
      parameters: READERS.parameters(parameters),
      ...(sequence !== undefined && { sequence }),
      ...(priority !== undefined && { priority }),
      ...(timeoutUs !== undefined && { timeoutUs }),
      ...(traceParentId !== undefined && { traceParentId }),
      inputs: READERS.inputs(inputs).map(copyOf),
      outputs: READERS.requestedOutputNames(requestedOutputNames).map((name) => ({ name })),
    },
    signal: READERS.signal(signal),
  };
}

/** One for each member of a request, given what stands there. */
const READERS = {
  modelName(value: unknown): string {
    if (typeof value === "string" && value !== "") return value;
    throw invalid("BLS requests need a 'modelName'");
  },
  modelVersion(value: unknown = ""): string {
    if (typeof value === "string") return value;
    if (isWhole(value)) return String(value);
    throw wrong("modelVersion", "a string or a whole number", value);
  },
  inputs(value: unknown): readonly Tensor[] {
    if (!Array.isArray(value)) {
      throw invalid(`inputs of BLS requests must be a list, found type '${typeName(value)}'`);
    }
    return value.map((tensor: unknown) => {
      if (tensor instanceof Tensor) return tensor;
      throw invalid(
        `Expected a 'Tensor' object in the inputs of a BLS request, found type '${typeName(tensor)}'`,
      );
    });
  },
  requestedOutputNames(value: unknown = []): readonly string[] {
    if (Array.isArray(value) && value.every((name) => typeof name === "string")) return value;
    throw wrong("requestedOutputNames", "a list of strings", value);
  },
  requestId(value: unknown = ""): string {
    if (typeof value === "string") return value;
    throw wrong("requestId", "a string", value);
  },
  correlationId(value: unknown = 0n): string | bigint {
    if (typeof value === "string") return value;
    if (typeof value === "bigint" && value >= 0n) return value;
    if (isWhole(value)) return BigInt(value);
    throw wrong("correlationId", "a string or a whole number from 0 on", value);
  },
  flags(value: unknown = 0): number {
    if (isWhole(value) && value <= (SEQUENCE_START | SEQUENCE_END)) return value;
    throw wrong("flags", "made of triton.SEQUENCE_START and triton.SEQUENCE_END", value);
  },
  priority(value: unknown): number | undefined {
    if (value === undefined || isWhole(value)) return value;
    throw wrong("priority", "a whole number from 0 on", value);
  },
  timeout(value: unknown): number | undefined {
    if (value === undefined || isWhole(value)) return value;
    throw wrong("timeout", "a whole number of microseconds from 0 on", value);
  },
  parameters(value: unknown = {}): Parameters {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw wrong("parameters", "an object", value);
    }
    return Object.fromEntries(Object.entries(value).map(([name, own]) => [name, parameterOf(name, own)]));
  },
  signal(value: unknown): AbortSignal | undefined {
    if (value === undefined || value instanceof AbortSignal) return value;
    throw wrong("signal", "an AbortSignal", value);
  },
  trace(value: unknown): ReceivedTrace | undefined {
    if (value === undefined || value instanceof ReceivedTrace) return value;
    throw wrong("trace", "the trace of a request", value);
  },
} satisfies { readonly [Name in keyof Required<InferRequest>]: (value: unknown) => unknown };

function parameterOf(name: string, value: unknown): ParameterValue {
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint") return value;
  if (typeof value === "number" && Number.isFinite(value)) {
    return Number.isSafeInteger(value) ? BigInt(value) : value;
  }
  throw wrong(`parameters.${name}`, "a string, a boolean or a finite number", value);
}

function sequenceOf(id: string | bigint, flags: number): SequenceFlags | undefined {
  return sequenceOrNone({ id, start: (flags & SEQUENCE_START) !== 0, end: (flags & SEQUENCE_END) !== 0 });
}

function isWhole(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function wrong(name: string, expected: string, value: unknown): ModelError {
  const isPlain = typeof value === "string" || typeof value === "number" || typeof value === "bigint";
  const found = isPlain ? `'${value}'` : `type '${typeName(value)}'`;
  return invalid(`'${name}' of a BLS request must be ${expected}, found ${found}`);
}

function invalid(message: string): ModelError {
  return new ModelError(message, "INVALID_ARG");
}
