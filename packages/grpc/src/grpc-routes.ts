import {
  OPERATIONS,
  type OperationContext,
  type OperationName,
  type StreamOperationName,
} from "@naiad/protocol";
import type { CallContext } from "./call-context.ts";
import { encodeInferResponse, encodeStreamResponse } from "./encode-infer-response.ts";
import { createMetadataForwarding } from "./forward-metadata.ts";
import { file_grpc_service, GRPCInferenceService } from "./gen/grpc_service_pb.ts";
import { file_health, Health, HealthCheckResponse_ServingStatus as ServingStatus } from "./gen/health_pb.ts";
import { file_reflection, ServerReflection } from "./gen/reflection_pb.ts";
import { DEFAULT_MAX_MESSAGE_SIZE, type GrpcOptions } from "./grpc-options.ts";
import { toConnectError } from "./grpc-status.ts";
import { type GrpcRoute, type Implementation, routesOf } from "./grpc-route.ts";
import type { InferCall } from "./infer-call.ts";
import { readLogUpdate, writeLogSettings } from "./log-setting-messages.ts";
import { modelConfigMessage } from "./model-config-message.ts";
import { modelInfer } from "./model-infer.ts";
import { modelStreamInfer } from "./model-stream-infer.ts";
import { readLoad, readUnloadDependents, rejectRepository } from "./repository-parameters.ts";
import { createAccessCheck } from "./restricted-protocols.ts";
import { createReflection } from "./server-reflection.ts";
import { readTraceUpdate, rejectAsGrpc, writeTraceSettings } from "./trace-setting-messages.ts";
import { writeStatistics } from "./write-statistics.ts";

/** The methods of Triton's service, and of gRPC's own for health and for reflection. */
export function createGrpcRoutes(options: GrpcOptions): readonly GrpcRoute[] {
  const { handlers, tracing, maxMessageSize = DEFAULT_MAX_MESSAGE_SIZE } = options;
  const checkAccess = createAccessCheck(options.restrictedProtocols ?? []);
  const forwardMetadata = createMetadataForwarding(options.headerForwardPattern ?? "");

  function requireAccess(name: OperationName | StreamOperationName, { requestHeader }: CallContext): void {
    checkAccess(OPERATIONS[name].category, requestHeader);
  }

  /** A method whose errors are told as Triton's statuses. */
  function unary<Request, Response>(
    name: OperationName,
    answer: (request: Request, context: OperationContext, call: InferCall) => Promise<Response>,
  ): (request: Request, context: CallContext) => Promise<Response> {
    return async (request, context) => {
      try {
        requireAccess(name, context);
        return await answer(request, { signal: context.signal }, inferCall(context));
      } catch (thrown) {
        throw toConnectError(thrown, context.signal);
      }
    };
  }

  function inferCall({ requestHeader, signal }: CallContext): InferCall {
    return { handlers, tracing, forwardMetadata, maxMessageSize, headers: requestHeader, signal };
  }

  const inference: Implementation<typeof GRPCInferenceService> = {
    serverLive: unary("serverLive", (_, context) => handlers.serverLive({}, context)),
    serverReady: unary("serverReady", (_, context) => handlers.serverReady({}, context)),
    modelReady: unary("modelReady", (request, context) => handlers.modelReady(referenceOf(request), context)),

    serverMetadata: unary("serverMetadata", async (_, context) => {
      const { name, version, extensions } = await handlers.serverMetadata({}, context);
      return { name, version, extensions: [...extensions] };
    }),
    modelMetadata: unary("modelMetadata", async (request, context) => {
      const metadata = await handlers.modelMetadata(referenceOf(request), context);
      const { name, versions, platform, inputs, outputs } = metadata;
      return {
        name,
        versions: [...versions],
        platform,
        inputs: inputs.map(withShape),
        outputs: outputs.map(withShape),
      };
    }),

    modelInfer: unary("modelInfer", (request, _, call) => modelInfer(request, call)),
    async *modelStreamInfer(requests, context) {
      try {
        requireAccess("modelStreamInfer", context);
        yield* modelStreamInfer(requests, inferCall(context));
      } catch (thrown) {
        throw toConnectError(thrown, context.signal);
      }
    },

    modelConfig: unary("modelConfig", async (request, context) => ({
      config: modelConfigMessage(await handlers.modelConfig(referenceOf(request), context)),
    })),
    modelStatistics: unary("modelStatistics", async (request, context) =>
      writeStatistics(await handlers.modelStatistics(referenceOf(request), context)),
    ),

    repositoryIndex: unary("repositoryIndex", async (request, context) => {
      rejectRepository(request);
      const entries = await handlers.repositoryIndex({ ready: request.ready }, context);
      return {
        models: entries.map(({ name, version = "", state = "", reason = "" }) => ({
          name,
          version,
          state,
          reason,
        })),
      };
    }),
    repositoryModelLoad: unary("repositoryModelLoad", async (request, context) => {
      rejectRepository(request);
      return handlers.repositoryModelLoad(readLoad(request.modelName, request.parameters), context);
    }),
    repositoryModelUnload: unary("repositoryModelUnload", async (request, context) => {
      rejectRepository(request);
      const { modelName, parameters } = request;
      const unloadDependents = readUnloadDependents(parameters);
      return handlers.repositoryModelUnload({ modelName, unloadDependents }, context);
    }),

    systemSharedMemoryStatus: unary("systemSharedMemoryStatus", async (request, context) => {
      const regions = await handlers.systemSharedMemoryStatus({ regionName: request.name }, context);
      return {
        regions: byName(
          regions.map(({ name, key, offset, byte_size }) => ({
            name,
            key,
            offset: BigInt(offset),
            byteSize: BigInt(byte_size),
          })),
        ),
      };
    }),
    systemSharedMemoryRegister: unary("systemSharedMemoryRegister", (request, context) => {
      const { name: regionName, key, offset, byteSize } = request;
      const registration = { regionName, key, offset: Number(offset), byteSize: Number(byteSize) };
      return handlers.systemSharedMemoryRegister(registration, context);
    }),
    systemSharedMemoryUnregister: unary("systemSharedMemoryUnregister", (request, context) =>
      handlers.systemSharedMemoryUnregister({ regionName: request.name }, context),
    ),
    cudaSharedMemoryStatus: unary("cudaSharedMemoryStatus", async (request, context) => {
      const regions = await handlers.cudaSharedMemoryStatus({ regionName: request.name }, context);
      return {
        regions: byName(
          regions.map(({ name, device_id, byte_size }) => ({
            name,
            deviceId: BigInt(device_id),
            byteSize: BigInt(byte_size),
          })),
        ),
      };
    }),
    cudaSharedMemoryRegister: unary("cudaSharedMemoryRegister", (request, context) => {
      const { name: regionName, rawHandle, deviceId, byteSize } = request;
      const registration = { regionName, rawHandle, deviceId: Number(deviceId), byteSize: Number(byteSize) };
      return handlers.cudaSharedMemoryRegister(registration, context);
    }),
    cudaSharedMemoryUnregister: unary("cudaSharedMemoryUnregister", (request, context) =>
      handlers.cudaSharedMemoryUnregister({ regionName: request.name }, context),
    ),

    traceSetting: unary("traceSetting", async ({ modelName, settings }, context) => {
      // An unknown model goes before anything that is wrong with the settings.
      const current = await handlers.traceSetting({ modelName }, context);
      const update = readTraceUpdate(settings);
      if (update === undefined) return writeTraceSettings(current);
      const changed = handlers.traceSetting({ modelName, update }, context).catch(rejectAsGrpc);
      return writeTraceSettings(await changed);
    }),
    logSettings: unary("logSettings", async ({ settings }, context) => {
      const update = readLogUpdate(settings);
      return writeLogSettings(await handlers.logSettings(update === undefined ? {} : { update }, context));
    }),
  };

  const health: Pick<Implementation<typeof Health>, "check"> = {
    check: unary("serverReady", async (_, context) => {
      const { ready } = await handlers.serverReady({}, context);
      return { status: ready ? ServingStatus.SERVING : ServingStatus.NOT_SERVING };
    }),
  };

  return [
    ...routesOf(GRPCInferenceService, inference, {
      modelInfer: encodeInferResponse,
      modelStreamInfer: encodeStreamResponse,
    }),
    ...routesOf(Health, health),
    ...reflectionRoutes(),
  ];
}

/** Tools ask by the newer name or the older; the messages are the same. */
function reflectionRoutes(): readonly GrpcRoute[] {
  const serverReflectionInfo = createReflection([file_grpc_service, file_health, file_reflection]);
  return routesOf(ServerReflection, { serverReflectionInfo }).flatMap((route) => [
    route,
    { ...route, path: route.path.replace(".v1.", ".v1alpha.") },
  ]);
}

function referenceOf({ name, version }: { readonly name: string; readonly version: string }): {
  readonly modelName: string;
  readonly modelVersion: string;
} {
  return { modelName: name, modelVersion: version };
}

function withShape(tensor: {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
}): {
  name: string;
  datatype: string;
  shape: bigint[];
} {
  const { name, datatype, shape } = tensor;
  return { name, datatype, shape: shape.map(BigInt) };
}

function byName<Item extends { readonly name: string }>(items: readonly Item[]): Record<string, Item> {
  return Object.fromEntries(items.map((item) => [item.name, item]));
}
