import { createChannel, holdAlive, whenDead } from "@naiad/link";
import type { Channel } from "@naiad/link";
import type {
  BytesTensor,
  ClientContract,
  ExchangeHandler,
  OperationHandlers,
  ServerEvent,
  StreamingExchangeHandler,
} from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { SERVER_OPTIONS, createFakeClock, fakeHandlers, memoryLocks, pairedEndpoints } from "@naiad/testing";
import type { GatewayContract, GatewayExchange, HostStart } from "../src/contracts.ts";
import { aliveLock, WIRE_VERSION } from "../src/contracts.ts";
import { createHost } from "../src/host/host.ts";
import { NO_ASSETS } from "./memory-platform.ts";

export const START: HostStart = {
  wireVersion: WIRE_VERSION,
  hostId: "host-1",
  options: { ...SERVER_OPTIONS, httpMaxInputSize: 1, limits: { createMs: 1, firstRunMs: 1, runMs: 1 } },
  assets: NO_ASSETS,
  storageName: "s",
};
const CAPABILITIES = {
  gpus: [],
  crossOriginIsolated: false,
  hardwareConcurrency: 1,
  wasmMemoryLimitBytes: 1,
};
const SILENT = { calls: {}, streams: {}, notes: {} };

interface Script {
  readonly infer?: OperationHandlers["modelInfer"];
  readonly stream?: OperationHandlers["modelStreamInfer"];
  readonly exchange?: ExchangeHandler;
  readonly grpc?: StreamingExchangeHandler;
  readonly load?: (signal: AbortSignal) => Promise<void>;
  readonly compose?: () => Promise<void>;
}

export function setUp(script: Script = {}) {
  const clock = createFakeClock();
  const locks = memoryLocks();
  const listeners = new Set<(event: ServerEvent) => void>();
  const logged: string[] = [];
  const refuse = () => Promise.reject(new InferenceError("UNAVAILABLE", "not in this test"));
  const operations = fakeHandlers({
    serverLive: () => Promise.resolve({ live: true }),
    modelInfer: script.infer ?? refuse,
    modelStreamInfer: script.stream ?? refuse,
  });
  const host = createHost({
    clock,
    holdAlive: (hostId) => holdAlive(locks, aliveLock(hostId)),
    whenDead: (peerId, signal) => whenDead(locks, aliveLock(peerId), signal),
    compose: async ({ hostId, options }) => {
      await script.compose?.();
      return {
        services: {
          info: { hostId, wireVersion: WIRE_VERSION, options, capabilities: CAPABILITIES },
          operations,
          instances: () => [],
          subscribe: (listener) => {
            listeners.add(listener);
            return () => listeners.delete(listener);
          },
          handleExchange: script.exchange ?? refuse,
          handleGrpc: script.grpc ?? refuse,
          setMachineMetrics: () => undefined,
          tracing: { nowNs: () => undefined, begin: () => undefined },
          traces: async function* () {},
        },
        log: (level, message) => {
          logged.push(`${level}: ${message}`);
        },
        start: script.load ?? (() => Promise.resolve()),
        stop: () => Promise.resolve(),
      };
    },
  });

  /** A peer that lives, on a port of its own. */
  async function attach(kind: "client" | "gateway", peerId: string) {
    const { left, right } = pairedEndpoints();
    const die = await holdAlive(locks, aliveLock(peerId));
    // The host uses no more of a port than an endpoint has.
    await host.attach(kind, peerId, right as unknown as MessagePort);
    return { port: left, die, right };
  }
  return {
    clock,
    locks,
    host,
    listeners,
    logged,
    client: async (peerId = "page-1") => {
      const { port, ...rest } = await attach("client", peerId);
      const channel: Channel<ClientContract> = createChannel(port, SILENT, { peer: "host" });
      return { channel, ...rest };
    },
    gateway: async (peerId: string) => {
      const { port, ...rest } = await attach("gateway", peerId);
      const channel: Channel<GatewayContract> = createChannel(port, SILENT, { peer: "host" });
      return { channel, port, ...rest };
    },
  };
}

export const OUTPUT: BytesTensor = {
  kind: "bytes",
  name: "y",
  datatype: "UINT8",
  shape: [2],
  bytes: Uint8Array.of(7, 8),
};
export const REQUEST = { modelName: "m", modelVersion: "", id: "", parameters: {}, inputs: [], outputs: [] };
export const EXCHANGE: GatewayExchange = {
  method: "POST",
  rawTarget: "/v2/models/m/infer",
  headers: [],
  body: Uint8Array.of(1, 2).buffer,
  clientId: "c",
  bodyHash: "h",
};
