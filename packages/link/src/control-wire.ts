import type { WireError } from "@naiad/protocol";

/** Methods that can be called from another context: every one answers with a promise of plain data or of a port. */
export type ControlMethods<Methods> = {
  readonly [Name in keyof Methods]: (...args: never[]) => Promise<unknown>;
};

/** The one object that Comlink exposes. These names and `wireVersion` stay as they are in every version to come. */
export interface ControlDispatcher {
  invoke(invocation: ControlInvocation): Promise<ControlOutcome>;
  cancel(callId: number): void;
}

export interface ControlInvocation {
  readonly wireVersion: number;
  readonly callId: number;
  readonly method: string;
  /** Plain data and MessagePorts, which are transferred. */
  readonly args: readonly unknown[];
  /** Where among `args` the caller gave an AbortSignal; -1 for none. A signal does not cross by itself. */
  readonly signalAt: number;
}

/** Errors are values here: as exceptions they would cross without their code. */
export type ControlOutcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "error"; readonly error: WireError }
  | { readonly kind: "other-version"; readonly wireVersion: number };

/** What the exposing side posts beside Comlink's messages. */
export type ControlNotice =
  /** A message reached it that could not be deserialised. */
  | "naiad:control-unreadable"
  /** It answers nothing more. */
  | "naiad:control-stopped";

/** The ports among some values, each of which changes hands. */
export function portsAmong(values: readonly unknown[]): MessagePort[] {
  return values.filter((value) => value instanceof MessagePort);
}
