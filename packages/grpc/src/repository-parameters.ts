import { InferenceError, type RepositoryModelLoad } from "@naiad/protocol";
import type { ModelRepositoryParameter } from "./gen/grpc_service_pb.ts";

type RepositoryParameters = Readonly<Record<string, ModelRepositoryParameter>>;

export function rejectRepository({ repositoryName }: { readonly repositoryName: string }): void {
  if (repositoryName === "") return;
  throw new InferenceError("UNSUPPORTED", "'repository_name' specification is not supported");
}

const FILE_PREFIX = "file:";

export function readLoad(modelName: string, parameters: RepositoryParameters): RepositoryModelLoad {
  let config: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [name, { parameterChoice: choice }] of Object.entries(parameters)) {
    if (name === "config") {
      if (choice.case !== "stringParam") throw wrongLoadType(name, "string_param");
      config = choice.value;
    } else if (name.startsWith(FILE_PREFIX)) {
      if (choice.case !== "bytesParam") throw wrongLoadType(name, "bytes_param");
      files.set(name.slice(FILE_PREFIX.length), choice.value);
    } else {
      throw new InferenceError("INVALID_ARG", `unrecognized load parameter '${name}'.`);
    }
  }
  return {
    modelName,
    ...(config !== undefined && { config }),
    ...(files.size > 0 && { files: Object.fromEntries(files) }),
  };
}

export function readUnloadDependents(parameters: RepositoryParameters): boolean {
  const choice = parameters["unload_dependents"]?.parameterChoice;
  if (choice === undefined) return false;
  if (choice.case === "boolParam") return choice.value;
  throw new InferenceError(
    "INVALID_ARG",
    "invalid value type for 'unload_dependents' parameter, expected bool_param.",
  );
}

function wrongLoadType(name: string, type: string): InferenceError {
  return new InferenceError(
    "INVALID_ARG",
    `invalid value type for load parameter '${name}', expected ${type}.`,
  );
}
