import type {
  OperationContext,
  OperationInput,
  OperationName,
  OperationOutput,
  UnaryOperationHandlers,
} from "@naiad/protocol";
import { FILES_PATH } from "./served-files.ts";
import type { HostServices } from "./session.ts";

/**
 * The same services, except that requests wait while the server loads the models of its start. tritonserver opens its
 * endpoints only after that; and a request that comes over from a host that has died must not fail because its successor
 * began a moment ago. `wait` gives `undefined` once there is nothing to wait for; it may give up and let a request
 * through, which the server then refuses. Health is told at any time.
 */
export function heldUntilLoaded(
  services: HostServices,
  wait: (signal: AbortSignal) => Promise<void> | undefined,
): HostServices {
  const { operations, handleExchange, handleGrpc } = services;
  const unary: UnaryOperationHandlers = operations;

  const held =
    <Name extends OperationName>(name: Name) =>
    async (input: OperationInput<Name>, context: OperationContext): Promise<OperationOutput<Name>> => {
      await wait(context.signal);
      return unary[name](input, context);
    };

  return {
    ...services,
    operations: {
      ...operations,
      serverMetadata: held("serverMetadata"),
      serverMetrics: held("serverMetrics"),
      modelReady: held("modelReady"),
      modelMetadata: held("modelMetadata"),
      modelConfig: held("modelConfig"),
      modelStatistics: held("modelStatistics"),
      modelInfer: held("modelInfer"),
      modelStreamInfer: async (input, context) => {
        await wait(context.signal);
        return operations.modelStreamInfer(input, context);
      },
      repositoryIndex: held("repositoryIndex"),
      repositoryModelLoad: held("repositoryModelLoad"),
      repositoryModelUnload: held("repositoryModelUnload"),
      traceSetting: held("traceSetting"),
      logSettings: held("logSettings"),
      systemSharedMemoryStatus: held("systemSharedMemoryStatus"),
      systemSharedMemoryRegister: held("systemSharedMemoryRegister"),
      systemSharedMemoryUnregister: held("systemSharedMemoryUnregister"),
      cudaSharedMemoryStatus: held("cudaSharedMemoryStatus"),
      cudaSharedMemoryRegister: held("cudaSharedMemoryRegister"),
      cudaSharedMemoryUnregister: held("cudaSharedMemoryUnregister"),
    },
    handleExchange: async (request) => {
      if (!isNeverHeld(request.rawTarget)) await wait(request.signal);
      return handleExchange(request);
    },
    handleGrpc: async (request) => {
      if (!isNeverHeld(request.rawTarget)) await wait(request.signal);
      return handleGrpc(request);
    },
  };
}

const NEVER_HELD: readonly string[] = [
  "/v2/health/",
  "/inference.GRPCInferenceService/ServerLive",
  "/inference.GRPCInferenceService/ServerReady",
  "/grpc.health.v1.Health/",
  FILES_PATH,
];

/** Health, and what a model that is being loaded reads. */
function isNeverHeld(rawTarget: string): boolean {
  return NEVER_HELD.some((start) => rawTarget.startsWith(start));
}
