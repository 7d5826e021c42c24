import type { DeviceMemory, InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { BytesTensor, DeviceTensor, Tensor } from "@naiad/protocol";

/** The device memories of a fake backend's workers, which notice whoever breaks the rules of `DeviceMemory`. */
export interface FakeDeviceMemories {
  /** Tensors that nobody has disposed, in workers that live. */
  readonly liveCount: number;
  /** Tensors disposed twice or never made, one line each. */
  readonly faults: readonly string[];
  /** The memory of the worker that lives under this key, which is begun where none does. */
  of(key: string): FakeDeviceMemory;
  /** The worker of this key ends; the next one under it has another name. */
  lose(key: string): void;
  /**
   * The requests as an instance beside `own` reads them: as bytes. Of those whose tensors are lost the result says which;
   * `readCount` are those that lay elsewhere.
   */
  read(requests: readonly InstanceRequest[], own: FakeDeviceMemory | undefined): FakeReading;
}

export interface FakeReading {
  readonly requests: readonly InstanceRequest[];
  readonly lost: ReadonlySet<InstanceRequest>;
  readonly readCount: number;
}

export interface FakeDeviceMemory extends DeviceMemory {
  /** The outcome with those outputs in this memory that may stay there. */
  keep(outcome: InstanceOutcome, request: InstanceRequest): InstanceOutcome;
}

export function createFakeDeviceMemories(): FakeDeviceMemories {
  const faults: string[] = [];
  const memories = new Map<string, Memory>();
  let workerCount = 0;

  const content = (tensor: DeviceTensor): Uint8Array | undefined =>
    [...memories.values()].find(({ worker }) => worker === tensor.worker)?.tensors.get(tensor.handle);

  return {
    get liveCount() {
      return [...memories.values()].reduce((sum, { tensors }) => sum + tensors.size, 0);
    },
    faults,
    of(key) {
      const present = memories.get(key);
      if (present !== undefined) return present;
      workerCount += 1;
      const memory = new Memory(`${key}#${String(workerCount)}`, faults);
      memories.set(key, memory);
      return memory;
    },
    lose(key) {
      memories.get(key)?.lose();
      memories.delete(key);
    },
    read(requests, own) {
      const lost = new Set<InstanceRequest>();
      let readCount = 0;
      const local = requests.map((request) => {
        const inputs: BytesTensor[] = [];
        let isLost = false;
        for (const input of request.inputs) {
          const bytes = input.kind === "bytes" ? input.bytes : content(input);
          if (input.kind === "device" && bytes !== undefined && input.worker !== own?.worker) readCount += 1;
          if (bytes === undefined) isLost = true;
          else {
            const { name, datatype, shape } = input;
            inputs.push({ kind: "bytes", name, datatype, shape, bytes });
          }
        }
        const read = { ...request, inputs };
        if (isLost) lost.add(read);
        return read;
      });
      return { requests: local, lost, readCount };
    },
  };
}

class Memory implements FakeDeviceMemory {
  readonly worker: string;
  readonly tensors: Map<number, Uint8Array> = new Map();
  readonly #faults: string[];
  #nextHandle = 1;
  #isLost = false;

  constructor(worker: string, faults: string[]) {
    this.worker = worker;
    this.#faults = faults;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  lose(): void {
    this.#isLost = true;
    this.tensors.clear();
  }

  keep(outcome: InstanceOutcome, { keepOnDevice = [] }: InstanceRequest): InstanceOutcome {
    if (outcome.kind !== "response" || this.#isLost) return outcome;
    const outputs = outcome.outputs.map((output): Tensor => {
      if (output.kind === "device" || !keepOnDevice.includes(output.name)) return output;
      const handle = this.#nextHandle;
      this.#nextHandle += 1;
      this.tensors.set(handle, output.bytes);
      const { name, datatype, shape } = output;
      return { kind: "device", name, datatype, shape, worker: this.worker, handle };
    });
    return { ...outcome, outputs };
  }

  dispose({ name, handle, worker }: DeviceTensor): void {
    if (this.#isLost) return;
    if (worker !== this.worker || !this.tensors.delete(handle)) {
      this.#faults.push(`tensor ${String(handle)} ('${name}') of ${worker} is not in ${this.worker}`);
    }
  }
}
