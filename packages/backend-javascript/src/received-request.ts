import type { InstanceRequest } from "@naiad/core";
import type { Parameters, SequenceFlags } from "@naiad/protocol";
import { invariant } from "@naiad/protocol";
import {
  REQUEST_RELEASE_ALL,
  REQUEST_RELEASE_RESCHEDULE,
  SEQUENCE_END,
  SEQUENCE_START,
} from "./model/flags.ts";
import { ModelError } from "./model/model-error.ts";
import type { InferenceRequest, RequestParameter } from "./model/model.ts";
import { Tensor } from "./model/tensor.ts";
import { ReceivedTrace } from "./received-trace.ts";
import type { OwnedSender } from "./response-sender.ts";

/** A request in the model's hands, and what the backend has to know of what it does there. */
export interface ReceivedRequest {
  readonly given: InferenceRequest;
  readonly sender: OwnedSender;
  /** Whether the model has asked for the sender. */
  readonly usesSender: boolean;
  readonly isRescheduled: boolean;
}

export interface ReceivingContext {
  readonly signal: AbortSignal;
  readonly sender: OwnedSender;
  readonly traceActivity: (traceId: number, activity: string) => void;
}

export function receiveRequest(
  { id, inputs, outputs, sequence, parameters, timeoutUs = 0, priority = 0, traceId }: InstanceRequest,
  { signal, sender, traceActivity }: ReceivingContext,
): ReceivedRequest {
  let usesSender = false;
  let releaseFlags = REQUEST_RELEASE_ALL;
  const tensors = inputs.map((tensor) => {
    invariant(tensor.kind === "bytes", "inputs of a JavaScript model lie in memory");
    return Tensor.fromBytes(tensor.name, tensor.datatype, tensor.shape, tensor.bytes);
  });
  const trace =
    traceId === undefined
      ? undefined
      : new ReceivedTrace(traceId, (activity) => {
          traceActivity(traceId, activity);
        });
  const given: InferenceRequest = {
    requestId: id,
    inputs: tensors,
    input: (name) => tensors.find((tensor) => tensor.name === name),
    requestedOutputNames: outputs,
    correlationId: correlationIdOf(sequence),
    flags: flagsOf(sequence),
    timeout: timeoutUs,
    priority,
    parameters: readableParameters(parameters),
    signal,
    isCancelled: () => signal.aborted,
    trace: () => trace,
    getResponseSender: () => {
      usesSender = true;
      return sender;
    },
    setReleaseFlags: (flags) => {
      if (flags !== REQUEST_RELEASE_ALL && flags !== REQUEST_RELEASE_RESCHEDULE) {
        throw new ModelError(`Unable to set request release flags. Unsupported flags provided: ${flags}`);
      }
      releaseFlags = flags;
    },
  };
  return {
    given,
    sender,
    get usesSender() {
      return usesSender;
    },
    get isRescheduled() {
      return releaseFlags === REQUEST_RELEASE_RESCHEDULE;
    },
  };
}

function correlationIdOf(sequence: SequenceFlags | undefined): string | number | bigint {
  const id = sequence?.id ?? 0n;
  return typeof id === "string" ? id : plainInteger(id);
}

function flagsOf(sequence: SequenceFlags | undefined): number {
  return (sequence?.start === true ? SEQUENCE_START : 0) | (sequence?.end === true ? SEQUENCE_END : 0);
}

/** As people write them in JavaScript. */
export function readableParameters(parameters: Parameters): Readonly<Record<string, RequestParameter>> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name,
      typeof value === "bigint" ? plainInteger(value) : value,
    ]),
  );
}

function plainInteger(value: bigint): number | bigint {
  const plain = Number(value);
  return Number.isSafeInteger(plain) ? plain : value;
}
