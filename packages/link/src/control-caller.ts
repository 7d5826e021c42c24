import { InferenceError } from "@naiad/protocol";
import type { Remote } from "comlink";
import { transfer } from "comlink";
import { cancelled } from "./cancelled.ts";
import type { ControlDispatcher, ControlOutcome } from "./control-wire.ts";
import { portsAmong } from "./control-wire.ts";

/** Calls through Comlink, each of which ends: Comlink itself leaves the calls to a dead peer pending for ever. */
export class ControlCaller {
  readonly #remote: Remote<ControlDispatcher>;
  readonly #peer: string;
  readonly #wireVersion: number;
  readonly #pending = new Set<(reason: InferenceError) => void>();
  #lastCallId = 0;
  #ended: InferenceError | undefined;

  constructor(remote: Remote<ControlDispatcher>, peer: string, wireVersion: number) {
    this.#remote = remote;
    this.#peer = peer;
    this.#wireVersion = wireVersion;
  }

  call(method: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const signal = args.find((arg) => arg instanceof AbortSignal);
      const refusal = this.#ended ?? (signal?.aborted === true ? cancelled(signal.reason) : undefined);
      if (refusal !== undefined) {
        reject(refusal);
        return;
      }
      const callId = ++this.#lastCallId;
      const fail = (reason: InferenceError): void => {
        settle();
        reject(reason);
      };
      const abort = (): void => {
        fail(cancelled(signal?.reason));
        this.#remote.cancel(callId).catch(() => undefined);
      };
      const settle = (): void => {
        this.#pending.delete(fail);
        signal?.removeEventListener("abort", abort);
      };
      this.#pending.add(fail);
      signal?.addEventListener("abort", abort, { once: true });
      this.#invoke(callId, method, args).then((value) => {
        settle();
        resolve(value);
      }, fail);
    });
  }

  failPending(reason: InferenceError): void {
    for (const fail of [...this.#pending]) fail(reason);
  }

  /** Ends everything pending, and everything called from now on. */
  end(reason: InferenceError): void {
    this.#ended = reason;
    this.failPending(reason);
  }

  async #invoke(callId: number, method: string, args: readonly unknown[]): Promise<unknown> {
    const invocation = {
      wireVersion: this.#wireVersion,
      callId,
      method,
      args: args.map((arg) => (arg instanceof AbortSignal ? undefined : arg)),
      signalAt: args.findIndex((arg) => arg instanceof AbortSignal),
    };
    const outcome = await this.#remote
      .invoke(transfer(invocation, portsAmong(args)))
      .catch((thrown: unknown): ControlOutcome => ({ kind: "error", error: InferenceError.from(thrown) }));
    switch (outcome.kind) {
      case "value":
        return outcome.value;
      case "error":
        throw InferenceError.from(outcome.error);
      case "other-version":
        throw new InferenceError(
          "UNAVAILABLE",
          `${this.#peer} speaks wire version ${String(outcome.wireVersion)}, this side ${String(this.#wireVersion)}: ` +
            "another version of Naiad is still running here; close the other tabs of this site and reload",
        );
    }
  }
}
