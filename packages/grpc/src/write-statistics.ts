import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  BatchStatistics,
  InferStatistics,
  ModelStatistics,
  ModelVersionStatistics,
  ResponseStatistics,
  StatisticDuration,
} from "@naiad/protocol";
import type {
  InferBatchStatisticsSchema,
  InferResponseStatisticsSchema,
  InferStatisticsSchema,
  ModelStatisticsResponseSchema,
  ModelStatisticsSchema,
  StatisticDurationSchema,
} from "./gen/grpc_service_pb.ts";

export function writeStatistics({
  model_stats,
}: ModelStatistics): MessageInitShape<typeof ModelStatisticsResponseSchema> {
  return { modelStats: model_stats.map(writeVersion) };
}

function writeVersion(stats: ModelVersionStatistics): MessageInitShape<typeof ModelStatisticsSchema> {
  const { name, version, inference_stats, response_stats, batch_stats, memory_usage } = stats;
  return {
    name,
    version,
    lastInference: whole(stats.last_inference),
    inferenceCount: whole(stats.inference_count),
    executionCount: whole(stats.execution_count),
    inferenceStats: writeInference(inference_stats),
    batchStats: batch_stats.map(writeBatch),
    memoryUsage: memory_usage.map(({ type, id, byte_size }) => ({
      type,
      id: whole(id),
      byteSize: whole(byte_size),
    })),
    responseStats: Object.fromEntries(
      Object.entries(response_stats).map(([index, response]) => [index, writeResponse(response)]),
    ),
  };
}

function writeInference(stats: InferStatistics): MessageInitShape<typeof InferStatisticsSchema> {
  return {
    success: duration(stats.success),
    fail: duration(stats.fail),
    queue: duration(stats.queue),
    computeInput: duration(stats.compute_input),
    computeInfer: duration(stats.compute_infer),
    computeOutput: duration(stats.compute_output),
    cacheHit: duration(stats.cache_hit),
    cacheMiss: duration(stats.cache_miss),
  };
}

function writeResponse(stats: ResponseStatistics): MessageInitShape<typeof InferResponseStatisticsSchema> {
  return {
    computeInfer: duration(stats.compute_infer),
    computeOutput: duration(stats.compute_output),
    success: duration(stats.success),
    fail: duration(stats.fail),
    emptyResponse: duration(stats.empty_response),
    cancel: duration(stats.cancel),
  };
}

function writeBatch(stats: BatchStatistics): MessageInitShape<typeof InferBatchStatisticsSchema> {
  return {
    batchSize: whole(stats.batch_size),
    computeInput: duration(stats.compute_input),
    computeInfer: duration(stats.compute_infer),
    computeOutput: duration(stats.compute_output),
  };
}

function duration({ count, ns }: StatisticDuration): MessageInitShape<typeof StatisticDurationSchema> {
  return { count: whole(count), ns: whole(ns) };
}

function whole(value: number): bigint {
  return BigInt(Math.round(value));
}
