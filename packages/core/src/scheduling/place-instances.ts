import type { InstanceGroupContext, ModelConfig, ModelInstanceGroup } from "@naiad/model-config";
import { listInstances, ModelInstanceGroup_Kind as Kind, validateInstanceGroups } from "@naiad/model-config";
import type { Capabilities, ServerOptions } from "@naiad/protocol";
import type { InstanceDevice, InstancePlacement, InstanceRateLimit } from "../ports.ts";
import {
  isIsolated,
  isolationWarning,
  threadCountParameter,
  verifyParameter,
} from "./placement-parameters.ts";
import { shareThreads } from "./share-threads.ts";

export type PlacementOptions = Pick<
  ServerOptions,
  "gpuFallback" | "allowSoftwareGpu" | "foldGpus" | "threads" | "verify"
>;

export interface PlacementInput {
  /** Instance groups normalised with `gpuContext`. */
  readonly config: ModelConfig;
  /** As it stood in the repository: tells what the user asked for from what was filled in. */
  readonly written: Pick<ModelConfig, "instanceGroup">;
  readonly capabilities: Capabilities;
  readonly options: PlacementOptions;
  /** Marks workers that are not shared; no two loads have the same. */
  readonly owner: string;
  /** Threads that the instances of other models hold already. */
  readonly busyThreads?: number;
}

export interface PlannedInstance {
  readonly placement: InstancePlacement;
  /** Where to go when the GPU cannot run this model; absent when that is an error, and for CPU instances. */
  readonly cpuAlternative?: InstancePlacement;
}

export type PlacementResult =
  | {
      readonly kind: "placed";
      /** Never empty. */
      readonly instances: readonly PlannedInstance[];
      readonly warnings: readonly string[];
    }
  | { readonly kind: "refused"; readonly error: string };

/** Only named in an error text of Triton's. */
const MIN_COMPUTE_CAPABILITY = 6;

/**
 * What instance groups are normalised and validated with. A software adapter is a GPU only where an option says so. A
 * group that names no GPUs gets the high-performance one: using the low-power one as well would double the memory and
 * make half of the requests slower.
 */
export function gpuContext(
  capabilities: Capabilities,
  options: Pick<PlacementOptions, "allowSoftwareGpu">,
  preferredDevice: InstanceDevice["kind"] = "gpu",
): InstanceGroupContext {
  const ids = capabilities.gpus
    .filter((gpu) => !gpu.isFallback || options.allowSoftwareGpu)
    .map((gpu) => gpu.index);
  const onGpu = { kind: Kind.GPU, count: 0, gpus: [0] };
  const onCpu = { kind: Kind.CPU, count: 1, gpus: [] };
  return {
    gpus: { kind: "supported", ids },
    preferredGroups: [preferredDevice === "gpu" ? onGpu : onCpu],
    minComputeCapability: MIN_COMPUTE_CAPABILITY,
  };
}

/**
 * Decides where each instance of a model runs. KIND_CPU and KIND_MODEL are a WASM worker each. KIND_GPU is WebGPU, and
 * instance i of every model on one adapter lives in that adapter's worker i, because tensors can stay on the device only
 * within one worker; the configuration's parameter `isolate_worker: "true"` gives a model workers of its own. A passive
 * group gets none. An instance that was put on a GPU without being asked for there is verified, unless `verify` says
 * otherwise. Where the configuration does not say a count, one instance runs although Triton's default, which
 * `/config` shows, is two for ONNX models on the CPU: in a browser the second is a second copy of the weights.
 */
export function placeInstances(input: PlacementInput): PlacementResult {
  const { config, options } = input;
  const context = gpuContext(input.capabilities, options);
  const effective = effectiveGroups(input, context);
  const [issue] = validateInstanceGroups(effective.config, context);
  if (issue !== undefined) {
    const isWithoutGpu = gpuIds(context).length === 0 && effective.config.instanceGroup.some(isGpuGroup);
    return {
      kind: "refused",
      error: issue.message + (isWithoutGpu ? softwareHint(input.capabilities) : ""),
    };
  }

  const seats = seatsOf(effective.config, input.written);
  if (seats.length === 0) {
    return {
      kind: "refused",
      error: `all instance groups of model ${config.name} are passive, so that no instance would run its requests`,
    };
  }
  const threads = shareThreads({
    capabilities: input.capabilities,
    wanted: threadCountParameter(config) || options.threads,
    instances: seats.length,
    busyThreads: input.busyThreads ?? 0,
  });
  const warnings = [...effective.warnings, threads.warning, isolationWarning(config)].filter(
    (warning) => warning !== undefined,
  );
  const verify = verifyParameter(config, options.verify);
  const instancesOnAdapter = new Map<number, number>();

  const instances = seats.map(({ instanceName, groupIndex, kind, adapter, rateLimit }): PlannedInstance => {
    const note = effective.notes.get(groupIndex);
    const onCpu: InstancePlacement = {
      instanceName,
      device: { kind: "cpu", threads: threads.perInstance },
      workerKey: `cpu:${input.owner}:${instanceName}`,
      ...(note === undefined ? {} : { note }),
      ...(rateLimit === undefined ? {} : { rateLimit }),
    };
    if (kind !== Kind.GPU) return { placement: onCpu };

    const seat = instancesOnAdapter.get(adapter) ?? 0;
    instancesOnAdapter.set(adapter, seat + 1);
    const workerName = isIsolated(config) ? `${input.owner}:${instanceName}` : String(seat);
    const isDemanded = input.written.instanceGroup[groupIndex]?.kind === Kind.GPU;
    const placement: InstancePlacement = {
      ...onCpu,
      device: { kind: "gpu", adapter },
      workerKey: `gpu:${String(adapter)}:${workerName}`,
      ...((verify === "always" || (verify === "auto" && !isDemanded)) && { verify: true }),
    };
    return isDemanded && options.gpuFallback === "error"
      ? { placement }
      : { placement, cpuAlternative: onCpu };
  });
  return { kind: "placed", instances, warnings };
}

function gpuIds({ gpus }: InstanceGroupContext): readonly number[] {
  return gpus.kind === "supported" ? gpus.ids : [];
}

function isGpuGroup({ kind }: ModelInstanceGroup): boolean {
  return kind === Kind.GPU;
}

interface EffectiveGroups {
  readonly config: ModelConfig;
  /** Why a group is not where it asked to be, by its index. */
  readonly notes: ReadonlyMap<number, string>;
  readonly warnings: readonly string[];
}

/** The groups after the options have bent those that this machine cannot serve as they are. */
function effectiveGroups(
  { capabilities, config, options }: PlacementInput,
  context: InstanceGroupContext,
): EffectiveGroups {
  const ids = gpuIds(context);
  const notes = new Map<number, string>();
  const instanceGroup = config.instanceGroup.map((group, index) => {
    if (!isGpuGroup(group)) return group;
    const { group: bent, note } =
      ids.length === 0
        ? moveToCpu(group, options, softwareHint(capabilities))
        : foldGpus(group, ids, options);
    if (note !== undefined) notes.set(index, note);
    return bent;
  });
  const warnings = [...notes].map(([index, note]) => {
    const name = instanceGroup[index]?.name ?? "";
    return `instance group ${name} of model ${config.name} ${note}`;
  });
  return { config: { ...config, instanceGroup }, notes, warnings };
}

interface BentGroup {
  readonly group: ModelInstanceGroup;
  /** Absent when the group is as it was. */
  readonly note?: string;
}

function moveToCpu(group: ModelInstanceGroup, { gpuFallback }: PlacementOptions, hint: string): BentGroup {
  if (gpuFallback === "error") return { group };
  const count = group.count * Math.max(group.gpus.length, 1);
  return {
    group: { ...group, kind: Kind.CPU, count, gpus: [] },
    note: `has kind KIND_GPU but no GPUs are available: it runs on the CPU${hint}`,
  };
}

/** Where there are no GPUs but a software adapter, which has to be asked for. */
function softwareHint({ gpus }: Capabilities): string {
  return gpus.some(({ isFallback }) => isFallback)
    ? " (there is a software adapter, which option allowSoftwareGpu, or --gpu=software of naiad serve, makes one)"
    : "";
}

function foldGpus(
  group: ModelInstanceGroup,
  ids: readonly number[],
  { foldGpus: isFolding }: PlacementOptions,
): BentGroup {
  const absent = group.gpus.filter((id) => !ids.includes(id));
  const [first] = ids;
  if (!isFolding || absent.length === 0 || first === undefined) return { group };
  return {
    group: { ...group, gpus: group.gpus.map((id) => (ids.includes(id) ? id : first)) },
    note: `asks for GPU ${absent.join(", ")}, which is not there: it runs on GPU ${String(first)}`,
  };
}

interface Seat {
  readonly instanceName: string;
  readonly groupIndex: number;
  readonly kind: Kind;
  readonly adapter: number;
  readonly rateLimit: InstanceRateLimit | undefined;
}

function rateLimitOf({ rateLimiter }: ModelInstanceGroup): InstanceRateLimit | undefined {
  if (rateLimiter === undefined) return undefined;
  const { priority, resources } = rateLimiter;
  return { priority, resources: resources.map(({ name, global, count }) => ({ name, global, count })) };
}

/** Triton gives the instances of one number on several GPUs one name; here each has its own. */
function seatsOf(config: ModelConfig, written: Pick<ModelConfig, "instanceGroup">): readonly Seat[] {
  const namesGiven = new Map<string, number>();
  return listInstances(config).flatMap(({ group, kind, deviceId, passive, name }) => {
    const groupIndex = config.instanceGroup.indexOf(group);
    const isCountGiven = (written.instanceGroup[groupIndex]?.count ?? 0) >= 1;
    if (passive || (!isCountGiven && name !== `${group.name}_0`)) return [];
    const number = namesGiven.get(group.name) ?? 0;
    namesGiven.set(group.name, number + 1);
    const instanceName = `${group.name}_${String(number)}`;
    return [{ instanceName, groupIndex, kind, adapter: deviceId, rateLimit: rateLimitOf(group) }];
  });
}
