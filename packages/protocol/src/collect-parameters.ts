import type { InferenceRequest, Parameters, ParameterValue } from "./messages.ts";
import { sequenceOrNone } from "./sequence-flags.ts";

/** What the parameters of a request say, whichever way it came. */
export interface CollectedParameters extends Pick<InferenceRequest, "sequence" | "priority" | "timeoutUs"> {
  readonly custom: Parameters;
}

/** How one delivery reads the value of a parameter. Each throws the InferenceError that Triton has for it there. */
export interface ParameterReader<Value> {
  sequenceId(value: Value): string | bigint;
  flag(name: string, value: Value): boolean;
  priority(value: Value): number;
  timeoutUs(value: Value): number;
  /** Any other: the value of a custom parameter, or `undefined` for one that only this delivery knows. */
  other(name: string, value: Value): ParameterValue | undefined;
}

/** One after another, so that the first that is wrong is the error. */
export function collectParameters<Value>(
  parameters: Iterable<readonly [string, Value]>,
  reader: ParameterReader<Value>,
): CollectedParameters {
  const custom: Record<string, ParameterValue> = {};
  let id: string | bigint = 0n;
  let start = false;
  let end = false;
  let priority = 0;
  let timeoutUs = 0;
  for (const [name, value] of parameters) {
    switch (name) {
      case "sequence_id":
        id = reader.sequenceId(value);
        break;
      case "sequence_start":
        start = reader.flag(name, value);
        break;
      case "sequence_end":
        end = reader.flag(name, value);
        break;
      case "priority":
        priority = reader.priority(value);
        break;
      case "timeout":
        timeoutUs = reader.timeoutUs(value);
        break;
      default: {
        const other = reader.other(name, value);
        if (other !== undefined) defineParameter(custom, name, other);
      }
    }
  }
  const sequence = sequenceOrNone({ id, start, end });
  return {
    custom,
    ...(sequence !== undefined && { sequence }),
    ...(priority !== 0 && { priority }),
    ...(timeoutUs !== 0 && { timeoutUs }),
  };
}

/** Unlike an assignment this makes `__proto__` a parameter like any other. */
export function defineParameter(
  target: Record<string, ParameterValue>,
  name: string,
  value: ParameterValue,
): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}
