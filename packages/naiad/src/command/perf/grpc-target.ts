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
  ModelInferResponseSchema,
  ModelStreamInferResponseSchema,
  TraceSettingRequestSchema,
  TraceSettingResponseSchema,
} from "@naiad/grpc";
import type {
  BytesTensor,
  InferenceRequest,
  JsonObject,
  ModelMetadata,
  ModelStatistics,
  ParameterValue,
  StatisticDuration,
} from "@naiad/protocol";
import { InferenceError, invariant, isDatatype } from "@naiad/protocol";
import type { InferAnswer } from "../../perf/target.ts";
import type { CommandTarget } from "./command-target.ts";
import type { GrpcStream } from "./grpc-calls.ts";
import { createGrpcCalls } from "./grpc-calls.ts";
import type { GrpcCompression } from "./grpc-messages.ts";
import { grpcFrame } from "./grpc-messages.ts";
import type { TlsOptions } from "./tls-options.ts";

export interface GrpcTargetOptions {
  /** With the scheme `http` or `https`. */
  readonly url: string;
  readonly tls: TlsOptions;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether every request goes over a stream; those of a decoupled model do anyway. */
  readonly streaming: boolean;
  readonly compression: GrpcCompression;
}

/**
 * Triton's gRPC API over one connection. Streams stay open: each carries one request after the other, and there are as many as
 * requests on their way.
 */
export function createGrpcTarget(options: GrpcTargetOptions): CommandTarget {
  const { compression, headers, streaming, tls, url } = options;
  const encoding = compression === "none" ? {} : { "grpc-encoding": compression };
  const calls = createGrpcCalls({ url, tls, headers: { ...headers, ...encoding } });
  const frames = new WeakMap<InferenceRequest, Uint8Array>();
  const decoupled = new Set<string>();
  const idleStreams: GrpcStream[] = [];

  async function unary<Input extends DescMessage, Output extends DescMessage>(
    method: string,
    input: Input,
    init: MessageInitShape<Input>,
    output: Output,
  ): Promise<MessageShape<Output>> {
    const frame = grpcFrame(toBinary(input, create(input, init)), compression);
    const { messages } = await calls.call(method, frame);
    return fromBinary(output, messages[0] ?? new Uint8Array());
  }

  function frameOf(request: InferenceRequest, parameters: InferenceRequest["parameters"]): Uint8Array {
    const known = frames.get(request);
    if (known !== undefined) return known;
    const message = create(ModelInferRequestSchema, inferInit(request, parameters));
    const frame = grpcFrame(toBinary(ModelInferRequestSchema, message), compression);
    frames.set(request, frame);
    return frame;
  }

  async function inferOverStream(request: InferenceRequest): Promise<InferAnswer> {
    let stream = idleStreams.pop();
    while (stream?.isOpen === false) stream = idleStreams.pop();
    stream ??= calls.openStream("ModelStreamInfer");
    const isDecoupled = decoupled.has(request.modelName);
    const startMs = performance.now();
    const responseNs: number[] = [];
    let first: MessageShape<typeof ModelInferResponseSchema> | undefined;
    await stream.exchange(frameOf(request, EMPTY_FINAL_RESPONSE), (message) => {
      const nowMs = performance.now();
      const { errorMessage, inferResponse } = fromBinary(ModelStreamInferResponseSchema, message);
      if (errorMessage !== "") throw new InferenceError("UNKNOWN", errorMessage);
      const final = inferResponse?.parameters["triton_final_response"]?.parameterChoice;
      const isFinal = !isDecoupled || (final?.case === "boolParam" && final.value);
      // What says only that nothing follows is no response.
      if (!isDecoupled || (inferResponse?.outputs.length ?? 0) > 0) responseNs.push((nowMs - startMs) * 1e6);
      first ??= inferResponse;
      return isFinal ? "last" : "more";
    });
    idleStreams.push(stream);
    const response = first;
    return { responses: responseNs.length, responseNs, outputs: () => readOutputs(response) };
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
      calls.cancelWith(signal);
      if (streaming || decoupled.has(request.modelName)) return inferOverStream(request);
      const { messages, sendNs, receiveNs } = await calls.call("ModelInfer", frameOf(request, {}));
      return {
        responses: 1,
        sendNs,
        receiveNs,
        outputs: () => readOutputs(fromBinary(ModelInferResponseSchema, messages[0] ?? new Uint8Array())),
      };
    },
    setTrace: async (settings) => {
      const values = Object.entries(
        settings as Readonly<Record<string, string | readonly string[] | null>>,
      ).flatMap(([name, value]) => (value === null ? [] : [[name, { value: [value].flat() }] as const]));
      await unary(
        "TraceSetting",
        TraceSettingRequestSchema,
        { settings: Object.fromEntries(values) },
        TraceSettingResponseSchema,
      );
    },
    close: () => {
      calls.close();
    },
  };
}

/** Triton's parameter for a stream: the end of every request is told. */
const EMPTY_FINAL_RESPONSE = { triton_enable_empty_final_response: true } as const;

function readOutputs(
  response: MessageShape<typeof ModelInferResponseSchema> | undefined,
): readonly BytesTensor[] {
  const { outputs = [], rawOutputContents = [] } = response ?? {};
  return outputs.map(({ datatype, name, shape }, index) => {
    const bytes = rawOutputContents[index];
    if (bytes === undefined || !isDatatype(datatype)) {
      throw new InferenceError(
        "UNSUPPORTED",
        `output '${name}' has no raw content, which is all that is compared`,
      );
    }
    return { kind: "bytes", name, datatype, shape: shape.map(Number), bytes };
  });
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

function inferInit(
  request: InferenceRequest,
  added: InferenceRequest["parameters"],
): MessageInitShape<typeof ModelInferRequestSchema> {
  const { inputs, modelName, modelVersion, parameters, sequence } = request;
  const tensors = inputs.map((tensor) => {
    invariant(tensor.kind === "bytes", "requests to measure with are made of bytes");
    return tensor;
  });
  const all: Readonly<Record<string, ParameterValue>> = {
    ...parameters,
    ...added,
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
