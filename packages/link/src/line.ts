import { InferenceError } from "@naiad/protocol";
import type { ChannelOptions, Endpoint, FaultPoint } from "./types.ts";
import type { WireMessage } from "./wire.ts";

/** One end's way out: posts messages and lets tests interfere at the fault points. */
export interface Line {
  /** Throws an InferenceError (INTERNAL) when the message cannot be cloned or its buffers cannot be transferred. */
  post(message: WireMessage, transfer?: readonly Transferable[]): void;
  /** What the fault hook wants to be waited for; `undefined` at once where there is no hook. */
  hold(point: FaultPoint, detail: string): Promise<void> | undefined;
}

export function createLine(endpoint: Endpoint, { peer, fault }: ChannelOptions): Line {
  return {
    post(message, transfer) {
      try {
        endpoint.postMessage(message, transfer === undefined ? [] : [...transfer]);
      } catch (thrown) {
        const text = thrown instanceof Error ? thrown.message : String(thrown);
        throw new InferenceError("INTERNAL", `cannot send to ${peer}: ${text}`, { cause: thrown });
      }
    },
    hold(point, detail) {
      return fault && hooked(fault, point, detail);
    },
  };
}

/**
 * Takes `step`, after the fault hook where there is one and at once otherwise. `failed` hears what the hook or the step
 * threw. A hook that never settles holds the step back for ever.
 */
export function pass(
  line: Line,
  point: FaultPoint,
  detail: string,
  step: () => void,
  failed: (thrown: unknown) => void,
): void {
  const held = line.hold(point, detail);
  if (held !== undefined) {
    held.then(step).catch(failed);
    return;
  }
  try {
    step();
  } catch (thrown) {
    failed(thrown);
  }
}

/** Async so that a hook that throws rejects. */
async function hooked(
  fault: NonNullable<ChannelOptions["fault"]>,
  point: FaultPoint,
  detail: string,
): Promise<void> {
  await fault(point, detail);
}
