export * from "./gen/grpc_service_pb.ts";
export * from "./gen/health_pb.ts";
export type { GrpcCompression, GrpcOptions } from "./grpc-options.ts";
export { createGrpcHandler } from "./grpc-handler.ts";
export { isGrpcTarget } from "./grpc-target.ts";
