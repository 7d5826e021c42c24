import { clone, create } from "@bufbuild/protobuf";
import type { ModelConfig, ModelInstanceGroup } from "./gen/model_config_pb.ts";
import {
  ModelConfigSchema,
  ModelInstanceGroup_Kind as Kind,
  ModelInstanceGroupSchema,
} from "./gen/model_config_pb.ts";
import { ONNXRUNTIME, TENSORFLOW } from "./platforms.ts";

/** What the machine and the backend say about where instances may run. */
export interface InstanceGroupContext {
  /** Ids of the usable GPUs; `unsupported` when the server can use none by its build. */
  readonly gpus:
    { readonly kind: "unsupported" } | { readonly kind: "supported"; readonly ids: readonly number[] };
  /** Groups that the backend prefers, best first. */
  readonly preferredGroups: readonly PreferredGroup[];
  /** Only named in an error text. */
  readonly minComputeCapability: number;
}

export interface PreferredGroup {
  readonly kind: Kind;
  /** 0: no preference. */
  readonly count: number;
  readonly gpus: readonly number[];
}

function usableGpus(context: InstanceGroupContext): readonly number[] {
  return context.gpus.kind === "supported" ? context.gpus.ids : [];
}

/**
 * Gives every instance group a name, a kind other than KIND_AUTO, a count and, for KIND_GPU, its GPUs; a configuration
 * without groups gets one that is named like the model. Ensembles have none.
 */
export function normalizeInstanceGroups(config: ModelConfig, context: InstanceGroupContext): ModelConfig {
  if (config.schedulingChoice.case === "ensembleScheduling") return config;
  const normalized = clone(ModelConfigSchema, config);
  if (normalized.instanceGroup.length === 0)
    normalized.instanceGroup.push(defaultGroup(config.name, context));
  for (const [index, group] of normalized.instanceGroup.entries()) {
    group.name ||= `${config.name}_${index}`;
    if (group.kind === Kind.AUTO) group.kind = resolveAutoKind(group, context);
    applyPreferences(group, context);
    if (group.count < 1) group.count = defaultCount(group.kind, config.backend);
    if (group.kind === Kind.GPU && group.gpus.length === 0) group.gpus.push(...usableGpus(context));
  }
  return normalized;
}

function defaultGroup(modelName: string, context: InstanceGroupContext): ModelInstanceGroup {
  const gpus = usableGpus(context);
  const preferred = context.preferredGroups.find(({ kind }) => kind !== Kind.GPU || gpus.length > 0);
  const group = create(ModelInstanceGroupSchema, { name: modelName });
  if (preferred === undefined) return group;
  group.kind = preferred.kind;
  group.count = preferred.count;
  if (preferred.kind === Kind.GPU) group.gpus.push(...preferred.gpus.filter((id) => gpus.includes(id)));
  if (preferred.kind === Kind.AUTO) group.gpus.push(...preferred.gpus);
  return group;
}

/** GPU only when all GPUs that the group names are there. */
function resolveAutoKind(group: ModelInstanceGroup, context: InstanceGroupContext): Kind {
  const gpus = usableGpus(context);
  return gpus.length > 0 && group.gpus.every((id) => gpus.includes(id)) ? Kind.GPU : Kind.CPU;
}

function applyPreferences(group: ModelInstanceGroup, context: InstanceGroupContext): void {
  const gpus = usableGpus(context);
  for (const preferred of context.preferredGroups) {
    if (preferred.kind !== group.kind) continue;
    if (group.kind === Kind.GPU && group.gpus.length === 0 && preferred.gpus.length > 0) {
      const present = preferred.gpus.filter((id) => gpus.includes(id));
      if (present.length === 0) continue;
      group.gpus.push(...present);
    }
    if (group.count < 1 && preferred.count > 0) group.count = preferred.count;
  }
}

/** Two CPU instances where the backend gains from them, as Triton has it for ONNX Runtime and TensorFlow. */
function defaultCount(kind: Kind, backend: string): number {
  const isPaired = backend === ONNXRUNTIME.backend || backend === TENSORFLOW.backend;
  return kind === Kind.CPU && isPaired ? 2 : 1;
}

export interface InstanceSettings {
  /** `<group name>_<n>`; the instances of one `n` on several GPUs share it. */
  readonly name: string;
  readonly kind: Kind;
  /** The GPU's id, 0 for other kinds. */
  readonly deviceId: number;
  readonly passive: boolean;
  readonly group: ModelInstanceGroup;
}

/** Every instance that a normalised configuration asks for, in the order in which Triton makes them. */
export function listInstances(config: ModelConfig): readonly InstanceSettings[] {
  return config.instanceGroup.flatMap((group) => {
    const deviceIds = group.kind === Kind.GPU ? group.gpus : [0];
    return Array.from({ length: group.count }, (_, index) => `${group.name}_${index}`).flatMap((name) =>
      deviceIds.map((deviceId) => ({ name, kind: group.kind, deviceId, passive: group.passive, group })),
    );
  });
}
