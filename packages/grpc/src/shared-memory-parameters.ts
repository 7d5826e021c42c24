import { InferenceError } from "@naiad/protocol";
import type { InferParameter } from "./gen/grpc_service_pb.ts";
import type { ParameterMap } from "./infer-parameter.ts";

interface TensorWithParameters {
  readonly name: string;
  readonly parameters: ParameterMap;
}

/** The region in which a tensor is said to lie; `undefined`: in none. Throws INVALID_ARG as Triton does. */
export function readSharedMemoryRegion({ name, parameters }: TensorWithParameters): string | undefined {
  const region = parameters["shared_memory_region"];
  for (const key of ["shared_memory_offset", "shared_memory_byte_size"]) {
    if (region !== undefined || parameters[key] === undefined) continue;
    throw invalid(
      `'${key}' can not be specified without 'shared_memory_region' parameter for tensor '${name}'`,
    );
  }
  if (region === undefined) return undefined;
  requireType("shared_memory_region", region, { tensor: name, type: "string_param" });
  const offset = parameters["shared_memory_offset"];
  if (offset !== undefined)
    requireType("shared_memory_offset", offset, { tensor: name, type: "int64_param" });
  const byteSize = parameters["shared_memory_byte_size"];
  if (byteSize === undefined) {
    throw invalid(
      `'shared_memory_byte_size' must be specified along with 'shared_memory_region' parameter for tensor '${name}'`,
    );
  }
  requireType("shared_memory_byte_size", byteSize, { tensor: name, type: "int64_param" });
  return String(region.parameterChoice.value);
}

/** There are no regions, so every name of one is unknown. */
export function unknownRegion(region: string): InferenceError {
  return new InferenceError("NOT_FOUND", `Unable to find shared memory region: '${region}'`);
}

function requireType(
  key: string,
  { parameterChoice }: InferParameter,
  { tensor, type }: { readonly tensor: string; readonly type: "string_param" | "int64_param" },
): void {
  if (parameterChoice.case === (type === "string_param" ? "stringParam" : "int64Param")) return;
  throw invalid(`invalid value type for '${key}' parameter for tensor '${tensor}', expected ${type}.`);
}

function invalid(message: string): InferenceError {
  return new InferenceError("INVALID_ARG", message);
}
