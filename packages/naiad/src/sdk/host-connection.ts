import type { PortTransport } from "@naiad/client";
import type { CallOptions, Channel } from "@naiad/link";
import type {
  ClientContract,
  OperationName,
  StreamOperationInput,
  StreamOperationItem,
  StreamOperationName,
} from "@naiad/protocol";
import { InferenceError, OPERATIONS } from "@naiad/protocol";
import { unlessAborted } from "./unless-aborted.ts";

type CallName = keyof ClientContract["calls"];
type Input<Name extends CallName> = ClientContract["calls"][Name]["input"];
type Output<Name extends CallName> = ClientContract["calls"][Name]["output"];

/** A line to one particular host. */
export interface HostLine {
  readonly hostId: string;
  readonly channel: Channel<ClientContract>;
  /** Calls over the channel; posts copies, so that what the caller keeps can be sent again to the next host. */
  readonly transport: PortTransport;
}

/**
 * This page's line to the host, whichever page runs it. When a host goes, its pure requests are sent once more to the next
 * one; whatever changes the server, belongs to a sequence or gave its buffers away ends with an error that says so.
 */
export interface HostConnection {
  call<Name extends CallName>(name: Name, input: Input<Name>, options?: CallOptions): Promise<Output<Name>>;
  /** Ends with an error when the host goes: what has been answered is not answered again. */
  stream<Name extends StreamOperationName>(
    name: Name,
    input: StreamOperationInput<Name>,
    options?: CallOptions,
  ): AsyncIterable<StreamOperationItem<Name>>;
  /** The host that answers now; waits while there is none. */
  line(signal?: AbortSignal): Promise<HostLine>;
  /** Ends every pending call with `reason`. Idempotent. */
  close(reason: InferenceError): void;
}

/**
 * `acquire` finds or becomes the host and is called again after each loss; it ends only with a line or when its signal
 * fires. A rejection is final: the connection is closed with it.
 */
export function createHostConnection(acquire: (signal: AbortSignal) => Promise<HostLine>): HostConnection {
  const ended = new AbortController();
  let line: HostLine | undefined;
  let pending: Promise<HostLine> | undefined;
  let closedWith: InferenceError | undefined;

  const close = (reason: InferenceError): void => {
    if (closedWith !== undefined) return;
    closedWith = reason;
    ended.abort(reason);
    line?.channel.close(reason);
    line = undefined;
  };

  const connect = async (): Promise<HostLine> => {
    try {
      const next = await acquire(ended.signal);
      if (closedWith !== undefined) {
        next.channel.close(closedWith);
        throw closedWith;
      }
      line = next;
      void next.channel.closed.then(() => {
        if (line === next) line = undefined;
      });
      return next;
    } catch (error) {
      const reason = closedWith ?? InferenceError.from(error);
      close(reason);
      throw reason;
    } finally {
      pending = undefined;
    }
  };

  const currentLine = async (signal: AbortSignal | undefined): Promise<HostLine> => {
    if (line !== undefined) return line;
    if (closedWith !== undefined) throw closedWith;
    pending ??= connect();
    return await unlessAborted(pending, signal);
  };

  const again = async <Name extends CallName>(
    name: Name,
    input: Input<Name>,
    options: CallOptions,
    lost: HostLine | undefined,
    error: unknown,
  ): Promise<Output<Name>> => {
    if (lost === undefined || !(await wasLost(lost, error)) || closedWith !== undefined) throw error;
    if (!mayRepeat(name, input, options)) throw interrupted(name, error);
    const next = await currentLine(options.signal);
    return await next.transport.call(name, input, options);
  };

  return {
    close,
    line: currentLine,
    async *stream(name, input, options = {}) {
      const used = await currentLine(options.signal);
      try {
        yield* used.transport.stream(name, input, options);
      } catch (error) {
        throw closedWith === undefined && (await wasLost(used, error)) ? interrupted(name, error) : error;
      }
    },
    async call(name, input, options = {}) {
      let used = line;
      try {
        used ??= await currentLine(options.signal);
        return await used.transport.call(name, input, options);
      } catch (error) {
        return await again(name, input, options, used, error);
      }
    },
  };
}

/** Whether `error` is what the channel ends its pending calls with when the host is gone, rather than an answer. */
async function wasLost({ channel }: HostLine, error: unknown): Promise<boolean> {
  const stillOpen = Symbol();
  const state = await Promise.race([channel.closed, Promise.resolve(stillOpen)]);
  return state === error;
}

function mayRepeat<Name extends CallName>(name: Name, input: Input<Name>, options: CallOptions): boolean {
  if ((options.transfer?.length ?? 0) > 0) return false;
  if (typeof input === "object" && "sequence" in input) return false;
  return !isOperation(name) || OPERATIONS[name].replay === "pure";
}

function isOperation(name: string): name is OperationName {
  return Object.hasOwn(OPERATIONS, name);
}

function interrupted(name: string, cause: unknown): InferenceError {
  const message = `the page that ran the server went away during ${name}; whether it took effect is not known`;
  return new InferenceError("UNAVAILABLE", message, { cause });
}
