import type { Clock } from "@naiad/core";
import { createChannel } from "@naiad/link";
import type { ChannelHandlers, EmptyContract, Endpoint, FaultHook, Reply } from "@naiad/link";
import { isGrpcTarget } from "@naiad/grpc/target";
import type { ExchangeRequest, ExchangeResponse } from "@naiad/protocol";
import { headerValue, InferenceError } from "@naiad/protocol";
import type { GatewayAnswer, GatewayContract, GatewayExchange } from "../contracts.ts";
import { replayClassOf } from "../replay-class.ts";
import type { RepeatedRequests } from "./repeated-requests.ts";
import type { HostServices, Session } from "./session.ts";
import { giveBytes } from "./tensor-transfer.ts";

/** An answer on its way, and how to end what still produces its body. */
export interface HeldAnswer {
  readonly response: ExchangeResponse;
  /** Fires the exchange's signal; without effect once the body has ended. */
  abandon(): void;
}

export interface GatewaySessionOptions {
  readonly port: Endpoint;
  readonly gatewayId: string;
  readonly services: HostServices;
  /** Shared by all gateways of the host. */
  readonly repeated: RepeatedRequests<HeldAnswer>;
  readonly clock: Clock;
  /** How long the body of an answer waits for its reader. */
  readonly bodyWaitMs?: number;
  readonly fault?: FaultHook;
}

/** Serves HTTP exchanges to a service worker. */
export function createGatewaySession(options: GatewaySessionOptions): Session {
  const { port, gatewayId, services, repeated, fault } = options;
  const bodies = createBodyShelf(options.clock, options.bodyWaitMs ?? 30_000);

  const handlers: ChannelHandlers<GatewayContract> = {
    calls: {
      exchange: async (input, { signal }) => {
        const exchange = {
          key: [input.clientId, input.method, input.rawTarget, input.bodyHash].join("\n"),
          gatewayId,
          replay: replayClassOf(input.method, input.rawTarget),
        };
        const answer = await repeated.handle(exchange, signal, (runSignal) =>
          run(services, input, runSignal),
        );
        return replyOf(answer, bodies);
      },
      hostInfo: () => Promise.resolve({ value: services.info }),
    },
    streams: {
      body: async function* ({ bodyId }, { signal }) {
        const answer = bodies.take(bodyId);
        const abandon = (): void => {
          answer.abandon();
        };
        signal.addEventListener("abort", abandon, { once: true });
        try {
          for await (const piece of piecesOf(answer.response.body)) {
            const buffer = giveBytes(piece);
            yield { value: new Uint8Array(buffer), transfer: [buffer] };
          }
        } finally {
          signal.removeEventListener("abort", abandon);
          abandon();
        }
      },
    },
    notes: {},
  };

  const channel = createChannel<EmptyContract, GatewayContract>(port, handlers, {
    peer: `gateway ${gatewayId}`,
    ...(fault && { fault }),
  });
  void channel.closed.then(() => {
    bodies.clear();
  });
  return channel;
}

async function run(services: HostServices, input: GatewayExchange, signal: AbortSignal): Promise<HeldAnswer> {
  const controller = new AbortController();
  const abort = (): void => {
    controller.abort(signal.reason);
  };
  signal.addEventListener("abort", abort, { once: true });
  const { body, headers, method, rawTarget } = input;
  const exchange = { method, rawTarget, headers, body: new Uint8Array(body), signal: controller.signal };
  const response = isGrpcTarget(rawTarget)
    ? await handleWebGrpc(services, exchange)
    : await services.handleExchange(exchange);
  return {
    response,
    abandon: () => {
      controller.abort(new InferenceError("CANCELLED", "request was cancelled"));
    },
  };
}

/**
 * gRPC-Web and Connect, which keep to what a `fetch` can: gRPC itself has its status in trailers, and a page would wait for
 * them in vain.
 */
async function handleWebGrpc(services: HostServices, exchange: ExchangeRequest): Promise<ExchangeResponse> {
  if (!/^application\/grpc(\+|;|$)/.test(headerValue(exchange.headers, "content-type") ?? "")) {
    return services.handleGrpc(exchange);
  }
  const error =
    "a page cannot speak gRPC, which needs HTTP/2 with trailers; gRPC-Web and Connect are answered here";
  return {
    status: 415,
    headers: [["content-type", "application/json"]],
    body: new TextEncoder().encode(JSON.stringify({ error })),
  };
}

/** The same answer for one more receiver; a stream has only one. */
export function copyAnswer(answer: HeldAnswer): HeldAnswer | undefined {
  const { response } = answer;
  if (!(response.body instanceof Uint8Array)) return undefined;
  return { response: { ...response, body: response.body.slice() }, abandon: () => undefined };
}

function replyOf(answer: HeldAnswer, bodies: BodyShelf): Reply<GatewayAnswer> {
  const { status, headers, body } = answer.response;
  if (body instanceof Uint8Array) {
    const bytes = giveBytes(body);
    return { value: { status, headers, body: { kind: "bytes", bytes } }, transfer: [bytes] };
  }
  return { value: { status, headers, body: { kind: "stream", bodyId: bodies.put(answer) } } };
}

async function* piecesOf(body: ExchangeResponse["body"]): AsyncIterable<Uint8Array> {
  if (body instanceof Uint8Array) yield body;
  else yield* body;
}

/** Streamed answers whose body has not been asked for yet. */
interface BodyShelf {
  put(answer: HeldAnswer): string;
  /** Throws NOT_FOUND where it has gone already. */
  take(bodyId: string): HeldAnswer;
  clear(): void;
}

function createBodyShelf(clock: Clock, waitMs: number): BodyShelf {
  const shelved = new Map<string, { readonly answer: HeldAnswer; readonly cancel: () => void }>();
  let lastId = 0;
  return {
    put(answer) {
      lastId += 1;
      const bodyId = String(lastId);
      const cancel = clock.after(waitMs * 1e6, () => {
        shelved.delete(bodyId);
        answer.abandon();
      });
      shelved.set(bodyId, { answer, cancel });
      return bodyId;
    },
    take(bodyId) {
      const entry = shelved.get(bodyId);
      if (entry === undefined) throw new InferenceError("NOT_FOUND", `the body ${bodyId} is gone`);
      shelved.delete(bodyId);
      entry.cancel();
      return entry.answer;
    },
    clear() {
      for (const { answer, cancel } of shelved.values()) {
        cancel();
        answer.abandon();
      }
      shelved.clear();
    },
  };
}
