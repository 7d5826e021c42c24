import type { ReplayClass } from "@naiad/protocol";
import { isGrpcTarget } from "@naiad/grpc/target";
import { HTTP_ONLY, OPERATIONS } from "@naiad/protocol";

/**
 * What a second delivery of an HTTP exchange may do, from its request line alone. What stands in no table is taken to
 * change something.
 */
export function replayClassOf(method: string, rawTarget: string): ReplayClass {
  if (method === "GET" || method === "HEAD") return "pure";
  const [path = ""] = rawTarget.split("?", 1);
  const segments = path.split("/");
  if (isGrpcTarget(path)) return grpcReplayClass(segments);
  const endpoints = [...Object.values(OPERATIONS), ...Object.values(HTTP_ONLY)];
  const found = endpoints.find(
    ({ methods, paths }) =>
      methods.some((allowed) => allowed === method) &&
      paths.some((template) => matches(template.split("/"), segments)),
  );
  return found?.replay ?? "control";
}

function grpcReplayClass([, service, method]: readonly string[]): ReplayClass {
  if (service === "grpc.health.v1.Health") return "pure";
  return Object.values(OPERATIONS).find(({ grpc }) => grpc === method)?.replay ?? "control";
}

function matches(template: readonly string[], segments: readonly string[]): boolean {
  return (
    template.length === segments.length &&
    template.every(
      (part, index) => part === segments[index] || (part.startsWith("{") && segments[index] !== ""),
    )
  );
}
