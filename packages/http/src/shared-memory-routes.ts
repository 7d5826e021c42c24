import { CLIENT_SHARED_MEMORY_DISABLED, InferenceError, type OperationName } from "@naiad/protocol";
import { contextOf, jsonMessage } from "./responses.ts";
import type { Route } from "./route.ts";

/** Nothing can be registered from outside, and Triton says so before it looks at the body. */
const refuse: Route = () => Promise.reject(new InferenceError("UNSUPPORTED", CLIENT_SHARED_MEMORY_DISABLED));

export const SHARED_MEMORY_ROUTES: {
  readonly [Name in Extract<OperationName, `${string}SharedMemory${string}`>]: Route;
} = {
  async systemSharedMemoryStatus(call) {
    const { systemSharedMemoryStatus } = call.options.handlers;
    return jsonMessage(await systemSharedMemoryStatus({ regionName: call.region }, contextOf(call)));
  },
  systemSharedMemoryRegister: refuse,
  systemSharedMemoryUnregister: refuse,

  async cudaSharedMemoryStatus(call) {
    const { cudaSharedMemoryStatus } = call.options.handlers;
    return jsonMessage(await cudaSharedMemoryStatus({ regionName: call.region }, contextOf(call)));
  },
  cudaSharedMemoryRegister: refuse,
  cudaSharedMemoryUnregister: refuse,
};
