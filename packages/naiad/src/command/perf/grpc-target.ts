import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import type { InferParameterSchema, StatisticDurationSchema } from "@naiad/grpc";
import {
  ModelConfigRequestSchema,
  ModelConfigResponseSchema,
  ModelInferRequestSchema,
  ModelMetadataRequestSchema,
  ModelMetadataResponseSchema,
  ModelStatisticsRequestSchema,
  ModelStatisticsResponseSchema,
  ModelStreamInferResponseSchema,
} from "@naiad/grpc";
import type {
  InferenceRequest,
  JsonObject,
  ModelMetadata,
  ModelStatistics,
  ParameterValue,
  StatisticDuration,
} from "@naiad/protocol";
import { InferenceError, invariant } from "@naiad/protocol";
import type { PerfTarget } from "../../perf/target.ts";
import { createGrpcCalls, grpcFrame } from "./grpc-calls.ts";

export interface GrpcTargetOptions {
  /** With the scheme `http` or `https`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether every request goes over a stream; those of a decoupled model do anyway. */
  readonly streaming: boolean;
}

export interface GrpcTarget extends PerfTarget {
  close(): void;
}

/** Triton's gRPC API over one connection. A stream carries one request. */
export function createGrpcTarget({ url, headers, streaming }: GrpcTargetOptions): GrpcTarget {
  const calls = createGrpcCalls(url);
  const frames = new WeakMap<InferenceRequest, Uint8Array>();
  const decoupled = new Set<string>();

  async function unary<Input extends DescMessage, Output extends DescMessage>(
    method: string,
    input: Input,
    init: MessageInitShape<Input>,
    output: Output,
  ): Promise<MessageShape<Output>> {
    const message = grpcFrame(toBinary(input, create(input, init)));
    const { messages } = await calls.call({ method, message, headers });
    return fromBinary(output, messages[0] ?? new Uint8Array());
  }

  function frameOf(request: InferenceRequest): Uint8Array {
    const known = frames.get(request);
    if (known !== undefined) return known;
    const frame = grpcFrame(
      toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, inferInit(request))),
    );
    frames.set(request, frame);
    return frame;
  }

  return {
    name: "gRPC",
    modelMetadata: async (name, version) =>
      readMetadata(
        await unary(
          "ModelMetadata",
          ModelMetadataRequestSchema,
          { name, version },
          ModelMetadataResponseSchema,
        ),
      ),
    modelConfig: async (name, version) => {
      const schema = ModelConfigResponseSchema;
      const response = await unary("ModelConfig", ModelConfigRequestSchema, { name, version }, schema);
      if (response.config?.modelTransactionPolicy?.decoupled === true) decoupled.add(name);
      // As HTTP has it: names of fields in snake_case.
      const json = toJson(schema, response, { useProtoFieldName: true, alwaysEmitImplicit: true });
      return (json as JsonObject)["config"] as JsonObject;
    },
    modelStatistics: async (name) =>
      readStatistics(
        await unary("ModelStatistics", ModelStatisticsRequestSchema, { name }, ModelStatisticsResponseSchema),
      ),
    infer: async (request, signal) => {
      const isStream = streaming || decoupled.has(request.modelName);
      const method = isStream ? "ModelStreamInfer" : "ModelInfer";
      const { messages, sendNs, receiveNs } = await calls.call(
        { method, message: frameOf(request), headers },
        signal,
      );
      if (isStream) messages.forEach(checkStreamed);
      return { responses: messages.length, sendNs, receiveNs };
    },
    close: () => {
      calls.close();
    },
  };
}

function readMetadata({
  name,
  versions,
  platform,
  inputs,
  outputs,
}: MessageShape<typeof ModelMetadataResponseSchema>): ModelMetadata {
  const tensors = (of: typeof inputs): ModelMetadata["inputs"] =>
    of.map((tensor) => ({
      name: tensor.name,
      datatype: tensor.datatype,
      shape: tensor.shape.map(Number),
    }));
  return { name, versions, platform, inputs: tensors(inputs), outputs: tensors(outputs) };
}

/** What a measurement needs of them. */
function readStatistics({ modelStats }: MessageShape<typeof ModelStatisticsResponseSchema>): ModelStatistics {
  return {
    model_stats: modelStats.map(({ name, version, inferenceStats: stats, ...counts }) => ({
      name,
      version,
      last_inference: Number(counts.lastInference),
      inference_count: Number(counts.inferenceCount),
      execution_count: Number(counts.executionCount),
      inference_stats: {
        success: duration(stats?.success),
        fail: duration(stats?.fail),
        queue: duration(stats?.queue),
        compute_input: duration(stats?.computeInput),
        compute_infer: duration(stats?.computeInfer),
        compute_output: duration(stats?.computeOutput),
        cache_hit: duration(stats?.cacheHit),
        cache_miss: duration(stats?.cacheMiss),
      },
      response_stats: {},
      batch_stats: [],
      memory_usage: [],
    })),
  };
}

function duration(message: MessageShape<typeof StatisticDurationSchema> | undefined): StatisticDuration {
  return { count: Number(message?.count ?? 0n), ns: Number(message?.ns ?? 0n) };
}

function inferInit(request: InferenceRequest): MessageInitShape<typeof ModelInferRequestSchema> {
  const { inputs, modelName, modelVersion, parameters, sequence } = request;
  const tensors = inputs.map((tensor) => {
    invariant(tensor.kind === "bytes", "requests to measure with are made of bytes");
    return tensor;
  });
  const all: Readonly<Record<string, ParameterValue>> = {
    ...parameters,
    ...(sequence !== undefined && {
      sequence_id: sequence.id,
      sequence_start: sequence.start,
      sequence_end: sequence.end,
    }),
  };
  return {
    modelName,
    modelVersion,
    parameters: Object.fromEntries(Object.entries(all).map(([name, value]) => [name, parameterInit(value)])),
    inputs: tensors.map(({ name, datatype, shape }) => ({ name, datatype, shape: shape.map(BigInt) })),
    rawInputContents: tensors.map(({ bytes }) => bytes),
  };
}

function parameterInit(value: ParameterValue): MessageInitShape<typeof InferParameterSchema> {
  if (typeof value === "string") return { parameterChoice: { case: "stringParam", value } };
  if (typeof value === "boolean") return { parameterChoice: { case: "boolParam", value } };
  if (typeof value === "bigint") return { parameterChoice: { case: "int64Param", value } };
  return { parameterChoice: { case: "doubleParam", value } };
}

function checkStreamed(message: Uint8Array): void {
  const { errorMessage } = fromBinary(ModelStreamInferResponseSchema, message);
  if (errorMessage !== "") throw new InferenceError("UNKNOWN", errorMessage);
}
