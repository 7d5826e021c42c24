import { gunzipSync, gzipSync } from "node:zlib";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { compressionGzip, createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { createGrpcHandler } from "../src/grpc-handler.ts";
import type { GrpcCompression, GrpcOptions } from "../src/grpc-options.ts";
import { GRPCInferenceService } from "../src/gen/grpc_service_pb.ts";
import { fetchFrom } from "./fetch-exchange.ts";
import { serveExchange } from "./serve-exchange.ts";

export type InferenceClient = Client<typeof GRPCInferenceService>;

/** Calls of gRPC are answered by code of our own unless they are compressed. */
export const PROTOCOLS = ["gRPC", "gRPC, compressed", "gRPC-Web", "Connect"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Whatever is asked for. */
const GZIP: GrpcCompression = {
  compress: (_, bytes) => Promise.resolve(gzipSync(bytes)),
  decompress: (_, bytes, maxByteSize) => Promise.resolve(gunzipSync(bytes, { maxOutputLength: maxByteSize })),
};

export interface Connection {
  readonly transport: Transport;
  readonly client: InferenceClient;
  readonly close: () => Promise<void>;
}

/** A client of a handler: over real HTTP/2 for gRPC, over a `fetch` without a network for the others. */
export async function connect(protocol: Protocol, options: GrpcOptions): Promise<Connection> {
  const handler = createGrpcHandler({ compression: GZIP, ...options });
  if (protocol === "gRPC" || protocol === "gRPC, compressed") {
    const server = await serveExchange(handler);
    const { baseUrl } = server;
    const sessionManager = new Http2SessionManager(baseUrl);
    const transport = createGrpcTransport({
      baseUrl,
      sessionManager,
      ...(protocol === "gRPC, compressed" && { sendCompression: compressionGzip, compressMinBytes: 0 }),
    });
    const close = async (): Promise<void> => {
      sessionManager.abort();
      await server.close();
    };
    return { transport, client: createClient(GRPCInferenceService, transport), close };
  }
  const page = { baseUrl: "http://page", fetch: fetchFrom(handler), useBinaryFormat: true };
  const transport = protocol === "Connect" ? createConnectTransport(page) : createGrpcWebTransport(page);
  return { transport, client: createClient(GRPCInferenceService, transport), close: () => Promise.resolve() };
}
