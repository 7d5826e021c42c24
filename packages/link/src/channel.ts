import { InferenceError, unreachable } from "@naiad/protocol";
import type { AnyHandlers } from "./answering-side.ts";
import { AnsweringSide } from "./answering-side.ts";
import { AskingSide } from "./asking-side.ts";
import { createLine } from "./line.ts";
import type { Channel, ChannelContract, ChannelHandlers, ChannelOptions, Endpoint } from "./types.ts";
import type { WireMessage } from "./wire.ts";
import { readWireMessage } from "./wire.ts";

/**
 * Both ends of a conversation over `endpoint`: this end answers with `handlers` and asks through the channel returned.
 *
 * Nobody is told when the other side dies (no event says so, see `liveness.ts`): whoever learns of it calls `close` with
 * the reason. A message that arrives unreadable closes the channel on both sides, because nobody can say which call it
 * belonged to; so does a note's handler that throws. Messages of others on the same endpoint are left alone.
 */
export function createChannel<Remote extends ChannelContract, Local extends ChannelContract>(
  endpoint: Endpoint,
  handlers: ChannelHandlers<Local>,
  options: ChannelOptions,
): Channel<Remote> {
  const line = createLine(endpoint, options);
  const asking = new AskingSide(line);
  // The names and values on the wire are what the peer's compiler checked against the same contract.
  const answering = new AnsweringSide(line, handlers as unknown as AnyHandlers, (thrown) => {
    close(InferenceError.from(thrown));
  });
  let settleClosed: (reason: InferenceError) => void = () => undefined;
  const closed = new Promise<InferenceError>((resolve) => {
    settleClosed = resolve;
  });
  let isOpen = true;

  function receive(event: MessageEvent): void {
    const message = readWireMessage(event.data);
    if (message !== undefined) dispatch(message);
  }

  function dispatch(message: WireMessage): void {
    switch (message[0]) {
      case "call":
        answering.call(message[1], message[2], message[3]);
        return;
      case "answer":
        asking.finish(message[1], message[2]);
        return;
      case "open":
        answering.open(message[1], message[2], message[3], message[4]);
        return;
      case "item":
        asking.item(message[1], message[2]);
        return;
      case "end":
        asking.finish(message[1], undefined);
        return;
      case "credit":
        answering.credit(message[1], message[2]);
        return;
      case "fail":
        asking.fail(message[1], errorFromWire(message[2], message[3], message[4]));
        return;
      case "cancel":
        answering.cancel(message[1]);
        return;
      case "note":
        answering.note(message[1], message[2]);
        return;
      case "goodbye":
        end(errorFromWire(message[1], `${options.peer} closed the connection: ${message[2]}`));
        return;
      default:
        unreachable(message);
    }
  }

  function unreadable(): void {
    close(new InferenceError("INTERNAL", `a message from ${options.peer} could not be read`));
  }

  function close(reason: InferenceError): void {
    if (!isOpen) return;
    try {
      line.post(["goodbye", reason.code, reason.message]);
    } catch {
      // The other side has ways of its own to notice.
    }
    end(reason);
  }

  function end(reason: InferenceError): void {
    if (!isOpen) return;
    isOpen = false;
    endpoint.removeEventListener("message", receive);
    endpoint.removeEventListener("messageerror", unreadable);
    endpoint.close?.();
    asking.end(reason);
    answering.end(reason);
    settleClosed(reason);
  }

  endpoint.addEventListener("message", receive);
  endpoint.addEventListener("messageerror", unreadable);
  endpoint.start?.();

  return {
    call: (name, input, callOptions = {}) => asking.call(name, input, callOptions),
    stream: (name, input, streamOptions = {}) => ({
      [Symbol.asyncIterator]: () => asking.open(name, input, streamOptions),
    }),
    notify: (name, note, noteOptions) => {
      asking.notify(name, note, noteOptions?.transfer);
    },
    close,
    closed,
  };
}

function errorFromWire(code: string, message: string, retryAfterSecs?: number): InferenceError {
  return InferenceError.from({ code, message, retryAfterSecs });
}
