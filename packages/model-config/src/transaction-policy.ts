import { create } from "@bufbuild/protobuf";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import { ModelTransactionPolicySchema } from "./gen/model_config_pb.ts";

/** The configuration with another `model_transaction_policy`. */
export function withTransactionPolicy(
  config: ModelConfig,
  policy: { readonly decoupled: boolean },
): ModelConfig {
  return { ...config, modelTransactionPolicy: create(ModelTransactionPolicySchema, policy) };
}
