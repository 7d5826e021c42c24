import type { FaultHook } from "@naiad/link";
import { InferenceError } from "@naiad/protocol";
import type { GatewayAnswer, GatewayExchange } from "../contracts.ts";
import { replayClassOf } from "../replay-class.ts";
import type { HostConnection, HostLink } from "./host-link.ts";

export interface ForwardedAnswer {
  readonly answer: GatewayAnswer;
  /** Whence the body of a streamed answer comes. */
  readonly connection: HostConnection;
}

/**
 * Brings an exchange to the host. When the host dies under it, one that changes nothing is sent once more, to the next
 * host; any other ends with UNAVAILABLE, since nobody can say how far it had come. The body is copied, not given away:
 * it is needed for that second time.
 */
export async function forward(
  exchange: GatewayExchange,
  link: HostLink,
  signal: AbortSignal,
  fault?: FaultHook,
): Promise<ForwardedAnswer> {
  const mayRepeat = replayClassOf(exchange.method, exchange.rawTarget) === "pure";
  for (let attempt = 1; ; attempt += 1) {
    const connection = await link.connect();
    await fault?.("gateway.before-forward", exchange.rawTarget);
    try {
      const answer = await connection.channel.call("exchange", exchange, { signal });
      return { answer, connection };
    } catch (thrown) {
      // A channel that closes rejects its calls first and says why right afterwards.
      await Promise.resolve();
      const loss = connection.lostBecause();
      if (loss === undefined || signal.aborted) throw thrown;
      if (!mayRepeat || attempt > 1) throw new InferenceError("UNAVAILABLE", lossText(loss, mayRepeat));
    }
  }
}

function lossText(loss: InferenceError, mayRepeat: boolean): string {
  return mayRepeat
    ? `${loss.message}, and so was its successor while it answered the request`
    : `${loss.message} before it answered; it may or may not have done what it was asked for`;
}
