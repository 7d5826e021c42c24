import type { RequestTracing } from "@naiad/protocol";
import type { InferCall } from "./infer-call.ts";

export type EdgeTracingOf = Extract<RequestTracing, { readonly kind: "edge" }>;

/**
 * Asks the server's tracing about a request that has come; `undefined` while nothing is traced. Where the request is traced,
 * its trace is to be ended. `waitNs`: when the call began to wait for it, which a call of one request cannot know.
 */
export function beginTrace(
  { tracing, headers }: InferCall,
  modelName: string,
  waitNs?: number,
): EdgeTracingOf | undefined {
  const nowNs = tracing?.nowNs();
  if (tracing === undefined || nowNs === undefined) return undefined;
  const trace = tracing.begin({ modelName, headers: [...headers] });
  trace?.mark("GRPC_WAITREAD_START", waitNs ?? nowNs);
  trace?.mark("GRPC_WAITREAD_END", nowNs);
  return { kind: "edge", trace };
}
