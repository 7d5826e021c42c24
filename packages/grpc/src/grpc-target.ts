/** Whether a request is one for the gRPC handler: nothing of Triton's HTTP API has such a path. */
export function isGrpcTarget(rawTarget: string): boolean {
  return (
    rawTarget.startsWith("/inference.GRPCInferenceService/") ||
    rawTarget.startsWith("/grpc.health.v1.Health/")
  );
}
