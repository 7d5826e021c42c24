import type { ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench } from "@naiad/testing";
import type { GrpcOptions } from "../src/grpc-options.ts";
import { connect, type Connection, type Protocol } from "./clients.ts";

export interface GrpcBench extends Connection {
  readonly bench: ServerBench;
}

export interface GrpcBenchOptions extends ServerBenchOptions {
  readonly protocol?: Protocol;
  readonly grpc?: Partial<GrpcOptions>;
}

/** A whole server behind the gRPC handler, all models loaded: everything is real but clock, repository and backend. */
export async function createGrpcBench({
  protocol = "gRPC",
  ...options
}: GrpcBenchOptions): Promise<GrpcBench> {
  const bench = createServerBench(options);
  await bench.start();
  for (const name of Object.keys(options.models ?? {})) await bench.load(name);
  return {
    bench,
    ...(await connect(protocol, { handlers: bench.server, tracing: bench.tracing, ...options.grpc })),
  };
}
