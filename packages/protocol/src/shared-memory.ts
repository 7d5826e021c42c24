/** A region by its name; `""` is all of them. */
export interface SharedMemoryReference {
  readonly regionName: string;
}

export interface SystemSharedMemoryRegion {
  readonly name: string;
  readonly key: string;
  readonly offset: number;
  readonly byte_size: number;
}

export interface CudaSharedMemoryRegion {
  readonly name: string;
  readonly device_id: number;
  readonly byte_size: number;
}

export interface SystemSharedMemoryRegistration extends SharedMemoryReference {
  readonly key: string;
  readonly offset: number;
  readonly byteSize: number;
}

export interface CudaSharedMemoryRegistration extends SharedMemoryReference {
  /** A `cudaIpcMemHandle_t`. */
  readonly rawHandle: Uint8Array;
  readonly deviceId: number;
  readonly byteSize: number;
}

/** What a Triton says whose option `--allow-client-shm` is off, as it is by default. */
export const CLIENT_SHARED_MEMORY_DISABLED =
  "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.";
