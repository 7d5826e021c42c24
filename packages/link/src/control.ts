import { InferenceError } from "@naiad/protocol";
import { expose, transfer, wrap } from "comlink";
import { cancelled } from "./cancelled.ts";
import { comlinkEndpoint } from "./comlink-endpoint.ts";
import { ControlCaller } from "./control-caller.ts";
import type { ControlDispatcher, ControlMethods, ControlNotice } from "./control-wire.ts";
import { portsAmong } from "./control-wire.ts";
import { offered } from "./offered.ts";
import type { Endpoint } from "./types.ts";

export type { ControlMethods } from "./control-wire.ts";

export interface WrapControlOptions {
  /** Name of the other side in texts, for example `host worker`. */
  readonly peer: string;
  readonly wireVersion: number;
  /** Fires when the other side is gone. Its reason, where that is an InferenceError, is what pending calls end with. */
  readonly lost: AbortSignal;
}

export interface ExposeControlOptions {
  readonly wireVersion: number;
}

/**
 * The methods that the other side exposes with `exposeControl`: for rare, rich calls. Arguments and answers are copied,
 * MessagePorts among them transferred. One argument may be an AbortSignal: it crosses, and its firing rejects the call at
 * once with CANCELLED. Every call ends: with the answer, with the other side's InferenceError, with the loss, or with
 * UNAVAILABLE where the two sides speak different wire versions.
 */
export function wrapControl<Methods extends ControlMethods<Methods>>(
  endpoint: Endpoint,
  { peer, wireVersion, lost }: WrapControlOptions,
): Methods {
  const line = comlinkEndpoint(endpoint);
  const caller = new ControlCaller(wrap<ControlDispatcher>(line), peer, wireVersion);

  function notice({ data }: MessageEvent<ControlNotice | undefined>): void {
    if (data === "naiad:control-unreadable") unreadable();
    if (data === "naiad:control-stopped") end(new InferenceError("UNAVAILABLE", `${peer} has stopped`));
  }

  function unreadable(): void {
    const text = `a message between this side and ${peer} could not be read`;
    caller.failPending(new InferenceError("INTERNAL", text));
  }

  function lose(): void {
    const reason: unknown = lost.reason;
    end(reason instanceof InferenceError ? reason : new InferenceError("UNAVAILABLE", `${peer} is gone`));
  }

  function end(reason: InferenceError): void {
    line.detach();
    endpoint.removeEventListener("message", notice);
    endpoint.removeEventListener("messageerror", unreadable);
    lost.removeEventListener("abort", lose);
    caller.end(reason);
  }

  endpoint.addEventListener("message", notice);
  endpoint.addEventListener("messageerror", unreadable);
  lost.addEventListener("abort", lose, { once: true });
  if (lost.aborted) lose();

  // The other side exposes what this type says, or it speaks another wire version. A `then` would make it a promise.
  return new Proxy({} as Methods, {
    get: (_target, name) =>
      typeof name === "string" && name !== "then"
        ? (...args: readonly unknown[]) => caller.call(name, args)
        : undefined,
  });
}

/** Answers calls to `methods` until the function it gives is called, which also fires the signals of running calls. */
export function exposeControl<Methods extends ControlMethods<Methods>>(
  methods: Methods,
  endpoint: Endpoint,
  { wireVersion }: ExposeControlOptions,
): () => void {
  const line = comlinkEndpoint(endpoint);
  const running = new Map<number, AbortController>();
  // Arguments are what the caller's compiler checked against the same type.
  const record = methods as unknown as Readonly<Record<string, (...args: unknown[]) => Promise<unknown>>>;

  const dispatcher: ControlDispatcher = {
    async invoke(invocation) {
      if (invocation.wireVersion !== wireVersion) return { kind: "other-version", wireVersion };
      const { callId, method, signalAt } = invocation;
      const controller = new AbortController();
      running.set(callId, controller);
      try {
        const args = invocation.args.map((arg, at) => (at === signalAt ? controller.signal : arg));
        const target = offered(record, method);
        const value = await target.apply(methods, args);
        return transfer({ kind: "value", value }, portsAmong([value]));
      } catch (thrown) {
        return { kind: "error", error: InferenceError.from(thrown).toWire() };
      } finally {
        running.delete(callId);
      }
    },
    cancel(callId) {
      running.get(callId)?.abort(cancelled());
    },
  };

  function tell(notice: ControlNotice): void {
    endpoint.postMessage(notice, []);
  }

  function unreadable(): void {
    tell("naiad:control-unreadable");
  }

  endpoint.addEventListener("messageerror", unreadable);
  expose(dispatcher, line);
  return () => {
    line.detach();
    endpoint.removeEventListener("messageerror", unreadable);
    for (const callId of running.keys()) dispatcher.cancel(callId);
    tell("naiad:control-stopped");
  };
}
