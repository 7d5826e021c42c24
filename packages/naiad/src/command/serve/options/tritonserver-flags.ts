import type { Flag } from "./flags.ts";

/** Options of tritonserver that are known here without being offered. */

/** Older names. */
export const FLAG_ALIASES: Readonly<Record<string, string>> = { "model-store": "model-repository" };

/** tritonserver's options that have nothing to set here. They are taken, so that its command lines work, and said to do nothing. */
export const IDLE_FLAGS: readonly string[] = [
  "allow-client-shm",
  "backend-directory",
  "buffer-manager-thread-count",
  "cache-directory",
  "cuda-memory-pool-byte-size",
  "cuda-virtual-address-size",
  "enable-peer-access",
  "grpc-http2-max-ping-strikes",
  "grpc-http2-max-pings-without-data",
  "grpc-http2-min-recv-ping-interval-without-data",
  "grpc-infer-allocation-pool-size",
  "grpc-infer-thread-count",
  "grpc-max-response-pool-size",
  "host-policy",
  "http-thread-count",
  "min-supported-compute-capability",
  "model-load-gpu-limit",
  "pinned-memory-pool-byte-size",
  "pinned-memory-pool-policy",
  "repoagent-directory",
  "reuse-grpc-port",
  "reuse-http-port",
];

/** tritonserver's options for what is not served here, by what that is. */
export const ABSENT_FLAGS: Readonly<Record<string, string>> = {
  "allow-sagemaker": "SageMaker's endpoint",
  "sagemaker-port": "SageMaker's endpoint",
  "sagemaker-safe-port-range": "SageMaker's endpoint",
  "sagemaker-thread-count": "SageMaker's endpoint",
  "allow-vertex-ai": "Vertex AI's endpoint",
  "vertex-ai-port": "Vertex AI's endpoint",
  "vertex-ai-thread-count": "Vertex AI's endpoint",
  "vertex-ai-default-model": "Vertex AI's endpoint",
};

type HiddenFlag = Pick<Flag, "kind" | "repeats">;

/** Of which only one value is possible. */
export const FIXED_FLAGS: Readonly<Record<string, HiddenFlag & { readonly only: string }>> = {
  "model-namespacing": { kind: "boolean", only: "false" },
};

/** Older options, which are still taken. */
export const OLD_FLAGS: Readonly<
  Record<string, HiddenFlag & { /** What says the same now. */ readonly now: string }>
> = {
  "strict-model-config": { kind: "boolean", now: "disable-auto-complete-config" },
  "response-cache-byte-size": { kind: "count", now: "cache-config" },
  "trace-file": { kind: "text", now: "trace-config triton,file=..." },
  "trace-level": { kind: "text", repeats: true, now: "trace-config level=..." },
  "trace-rate": { kind: "text", now: "trace-config rate=..." },
  "trace-count": { kind: "text", now: "trace-config count=..." },
  "trace-log-frequency": { kind: "text", now: "trace-config triton,log-frequency=..." },
};
