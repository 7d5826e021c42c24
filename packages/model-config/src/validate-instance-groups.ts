import type { ConfigIssue } from "./config-issue.ts";
import { invalid } from "./config-issue.ts";
import type { ModelConfig, ModelInstanceGroup } from "./gen/model_config_pb.ts";
import { ModelInstanceGroup_Kind as Kind } from "./gen/model_config_pb.ts";
import type { InstanceGroupContext } from "./instance-groups.ts";
import { TENSORRT } from "./platforms.ts";

/** Instance groups after `normalizeInstanceGroups`, held against what the machine has. Ensembles have none. */
export function validateInstanceGroups(
  config: ModelConfig,
  context: InstanceGroupContext,
): readonly ConfigIssue[] {
  if (config.schedulingChoice.case === "ensembleScheduling") return [];
  if (config.instanceGroup.length === 0) {
    return [invalid("instance_group", `must specify one or more 'instance group's for ${config.name}`)];
  }
  return config.instanceGroup.flatMap((group, index) => {
    const path = `instance_group[${index}]`;
    const subject = `instance group ${group.name} of model ${config.name}`;
    if (group.kind === Kind.AUTO) {
      return [{ code: "INTERNAL", message: `${subject} has unexpected kind KIND_AUTO`, path } as const];
    }
    return [describeDeviceFault(group, context), describeProfileFault(group, config.platform)]
      .filter((fault) => fault !== undefined)
      .map((fault) => invalid(path, `${subject} ${fault}`));
  });
}

function describeDeviceFault(group: ModelInstanceGroup, context: InstanceGroupContext): string | undefined {
  switch (group.kind) {
    case Kind.GPU:
      return describeGpuFault(group, context);
    case Kind.CPU:
      return group.gpus.length > 0 ? "has kind KIND_CPU but specifies one or more GPUs" : undefined;
    case Kind.MODEL:
      return group.gpus.length > 0 ? "has kind KIND_MODEL but specifies one or more GPUs" : undefined;
    default:
      return undefined;
  }
}

function describeGpuFault(group: ModelInstanceGroup, context: InstanceGroupContext): string | undefined {
  if (context.gpus.kind === "unsupported") return "has kind KIND_GPU but server does not support GPUs";
  const { ids } = context.gpus;
  if (group.gpus.length === 0) {
    return ids.length === 0
      ? "has kind KIND_GPU but no GPUs are available"
      : "has kind KIND_GPU but specifies no GPUs";
  }
  const unknown = group.gpus.find((id) => !ids.includes(id));
  if (unknown === undefined) return undefined;
  return (
    `specifies invalid or unsupported gpu id ${unknown}. GPUs with at least the minimum required CUDA ` +
    `compute compatibility of ${context.minComputeCapability.toFixed(6)} are: ${ids.join(", ")}`
  );
}

function describeProfileFault(group: ModelInstanceGroup, platform: string): string | undefined {
  if (group.profile.length === 0) return undefined;
  if (platform !== TENSORRT.platform) {
    // The missing space is Triton's.
    return `and platform ${platform}specifies profile field which is only supported for TensorRT models`;
  }
  const invalidProfile = group.profile.find((profile) => !/^[0-9]+$/.test(profile));
  if (invalidProfile === undefined) return undefined;
  return (
    `and platform ${platform} specifies invalid profile ${invalidProfile}. The field should contain the string ` +
    "representation of a non-negative integer."
  );
}
