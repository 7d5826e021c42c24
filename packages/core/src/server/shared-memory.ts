import type { OperationHandlers } from "@naiad/protocol";
import { CLIENT_SHARED_MEMORY_DISABLED, InferenceError } from "@naiad/protocol";

type SharedMemoryOperation =
  | "systemSharedMemoryStatus"
  | "systemSharedMemoryRegister"
  | "systemSharedMemoryUnregister"
  | "cudaSharedMemoryStatus"
  | "cudaSharedMemoryRegister"
  | "cudaSharedMemoryUnregister";

/** There are no regions and there never will be: what a Triton answers that is not told `--allow-client-shm`. */
export const SHARED_MEMORY: Pick<OperationHandlers, SharedMemoryOperation> = {
  systemSharedMemoryStatus: ({ regionName }) => noRegions("system", regionName),
  systemSharedMemoryRegister: refuse,
  systemSharedMemoryUnregister: refuse,
  cudaSharedMemoryStatus: ({ regionName }) => noRegions("cuda", regionName),
  cudaSharedMemoryRegister: refuse,
  cudaSharedMemoryUnregister: refuse,
};

function noRegions(kind: "system" | "cuda", regionName: string): Promise<readonly never[]> {
  if (regionName === "") return Promise.resolve([]);
  return Promise.reject(
    new InferenceError("NOT_FOUND", `Unable to find ${kind} shared memory region: '${regionName}'`),
  );
}

function refuse(): Promise<never> {
  return Promise.reject(new InferenceError("UNSUPPORTED", CLIENT_SHARED_MEMORY_DISABLED));
}
