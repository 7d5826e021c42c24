import type { OperationHandlers } from "@naiad/protocol";

/** Handlers that do what is given; any other operation fails the test that asks for it. */
export function fakeHandlers(given: Partial<OperationHandlers>): OperationHandlers {
  const unexpected = (): Promise<never> => Promise.reject(new Error("not expected"));
  return {
    serverLive: unexpected,
    serverReady: unexpected,
    serverMetadata: unexpected,
    modelReady: unexpected,
    modelMetadata: unexpected,
    modelConfig: unexpected,
    modelStatistics: unexpected,
    modelInfer: unexpected,
    modelStreamInfer: unexpected,
    serverMetrics: unexpected,
    repositoryIndex: unexpected,
    repositoryModelLoad: unexpected,
    repositoryModelUnload: unexpected,
    traceSetting: unexpected,
    logSettings: unexpected,
    systemSharedMemoryStatus: unexpected,
    systemSharedMemoryRegister: unexpected,
    systemSharedMemoryUnregister: unexpected,
    cudaSharedMemoryStatus: unexpected,
    cudaSharedMemoryRegister: unexpected,
    cudaSharedMemoryUnregister: unexpected,
    ...given,
  };
}
