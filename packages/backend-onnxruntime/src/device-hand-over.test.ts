import type { InstanceOutcome, InstanceRequest } from "@naiad/core";
import { byteSourceOf, parseConfigText, readOnnxModel } from "@naiad/model-config";
import type { BytesTensor, DeviceTensor, Tensor } from "@naiad/protocol";
import { affineModel } from "@naiad/testing/fixture-models";
import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-web";
import * as realOrt from "onnxruntime-web";
import { describe, expect, it } from "vitest";
import type { DeviceTensors } from "./device-tensors.ts";
import { createDeviceTensors } from "./device-tensors.ts";
import type { Ort } from "./engine.ts";
import type { GpuContext } from "./gpu-context.ts";
import type { OnnxInstance } from "./instance.ts";
import { createOnnxInstance } from "./instance.ts";

/** A GPU whose memory is ordinary memory, and which minds WebGPU's rules for copies. */
interface FakeGpu {
  readonly device: GPUDevice;
  readonly liveBuffers: number;
  /** Goes wrong now and is reported when something is read, as on a real one. */
  fail(message: string): void;
  /** Something is read. */
  report(): void;
  readonly takeErrors: () => readonly string[];
}

interface FakeBuffer {
  readonly size: number;
  readonly bytes: Uint8Array;
  isDestroyed: boolean;
}

function fakeGpu(): FakeGpu {
  const buffers: FakeBuffer[] = [];
  const unreported: string[] = [];
  const reported: string[] = [];
  const report = (): void => {
    reported.push(...unreported.splice(0));
  };
  const check = (buffer: FakeBuffer, offset: number, size: number): void => {
    if (buffer.isDestroyed) throw new Error("the buffer is destroyed");
    if (offset % 4 !== 0 || size % 4 !== 0) throw new Error(`a copy of ${size} bytes at ${offset}`);
    if (offset + size > buffer.size) throw new Error("a copy reaches beyond its buffer");
  };
  const device = {
    createBuffer: ({ size }: { readonly size: number }) => {
      const bytes = new Uint8Array(size);
      const buffer = {
        size,
        bytes,
        isDestroyed: false,
        mapAsync: () => {
          report();
          return Promise.resolve();
        },
        getMappedRange: () => bytes.buffer,
        destroy: () => {
          buffer.isDestroyed = true;
        },
      };
      buffers.push(buffer);
      return buffer;
    },
    createCommandEncoder: () => {
      const commands: (() => void)[] = [];
      return {
        copyBufferToBuffer: (
          from: FakeBuffer,
          fromAt: number,
          to: FakeBuffer,
          toAt: number,
          size: number,
        ) => {
          check(from, fromAt, size);
          check(to, toAt, size);
          commands.push(() => {
            to.bytes.set(from.bytes.subarray(fromAt, fromAt + size), toAt);
          });
        },
        finish: () => commands,
      };
    },
    queue: {
      submit: (lists: readonly (readonly (() => void)[])[]) => {
        for (const command of lists.flat()) command();
      },
      writeBuffer: (to: FakeBuffer, offset: number, bytes: Uint8Array) => {
        check(to, offset, bytes.byteLength);
        to.bytes.set(bytes, offset);
      },
    },
  };
  return {
    device: device as unknown as GPUDevice,
    fail: (message) => {
      unreported.push(message);
    },
    report,
    takeErrors: () => reported.splice(0),
    get liveBuffers() {
      return buffers.filter(({ isDestroyed }) => !isDestroyed).length;
    },
  };
}

type Elements = "FP32" | "UINT8";
const TYPES = { FP32: "float32", UINT8: "uint8" } as const;

interface ModelOptions {
  readonly elements?: Elements;
  /** Of a row. */
  readonly width?: number;
  /** As the configuration has it. */
  readonly declared?: number;
  /** The engine fails where it is given a buffer to write into. */
  readonly refusesBuffers?: boolean;
}

interface Engine {
  readonly gpu: FakeGpu;
  readonly tensors: DeviceTensors;
  readonly log: string[];
  /** Locations of input and output of each run, but for those of the check at load. */
  readonly runs: readonly string[];
  readonly load: (options?: ModelOptions) => Promise<OnnxInstance>;
}

/** An engine whose every model adds one to X and gives it as Y. */
function engine(): Engine {
  const gpu = fakeGpu();
  const tensors = createDeviceTensors("w1");
  const log: string[] = [];
  const runs: string[] = [];
  const onnx = readOnnxModel(byteSourceOf(affineModel(1, 1)));
  return {
    gpu,
    tensors,
    log,
    runs,
    async load({ elements = "FP32", width = 4, declared = width, refusesBuffers = false } = {}) {
      const session = addingSession({ type: TYPES[elements], width, refusesBuffers, runs, gpu });
      const ort = {
        ...realOrt,
        InferenceSession: { create: () => Promise.resolve(session) },
      } as unknown as Ort;
      const { device, takeErrors } = gpu;
      const context = { device, adapter: "fake", takeErrors } as unknown as GpuContext;
      const io = (kind: string, name: string, size: number): string =>
        `${kind} { name: "${name}" data_type: TYPE_${elements} dims: ${String(size)} }`;
      const config = `name: "m" backend: "onnxruntime" max_batch_size: 8 ${io("input", "X", width)} ${io("output", "Y", declared)}`;
      const instance = await createOnnxInstance(
        ort,
        "jspi",
        {
          config: parseConfigText(config, { fileName: "config.pbtxt" }),
          model: affineModel(1, 1),
          onnx: await onnx,
          externalFiles: [],
          target: { kind: "webgpu", gpu: context, tensors },
        },
        { onRun: () => undefined, log: (_, message) => log.push(message) },
      );
      runs.length = 0;
      log.length = 0;
      return instance;
    },
  };
}

function addingSession({
  type,
  width,
  refusesBuffers,
  runs,
  gpu,
}: {
  readonly type: "float32" | "uint8";
  readonly width: number;
  readonly refusesBuffers: boolean;
  readonly runs: string[];
  readonly gpu: FakeGpu;
}): InferenceSession {
  const metadata = (name: string) => [{ name, isTensor: true, type, shape: ["rows", width] }];
  const session = {
    inputMetadata: metadata("X"),
    outputMetadata: metadata("Y"),
    release: () => Promise.resolve(),
    run: (feeds: Record<string, OrtTensor>, fetches: Record<string, OrtTensor | null>) => {
      const { X: input } = feeds;
      if (input === undefined) return Promise.reject(new Error("input 'X' is missing in 'feeds'."));
      const { Y: given = null } = fetches;
      runs.push(`${input.location} > ${given?.location ?? "cpu"}`);
      if (given !== null && (refusesBuffers || given.dims.join() !== input.dims.join()))
        return Promise.reject(new Error("ERROR_CODE: 2, ERROR_MESSAGE: the output has another shape"));
      const count = input.dims.reduce((product, dim) => product * dim, 1);
      const bytes =
        input.location === "cpu"
          ? new Uint8Array((input.data as Float32Array).slice().buffer)
          : (input.gpuBuffer as unknown as FakeBuffer).bytes.slice();
      const data = (
        type === "float32" ? new Float32Array(bytes.buffer, 0, count) : bytes.subarray(0, count)
      ).map((value) => value + 1);
      if (given === null) gpu.report();
      if (given === null) return Promise.resolve({ Y: new realOrt.Tensor(type, data, input.dims) });
      (given.gpuBuffer as unknown as FakeBuffer).bytes.set(new Uint8Array(data.buffer, 0, data.byteLength));
      return Promise.resolve({ Y: given });
    },
  };
  return session as unknown as InferenceSession;
}

function fp32(rows: readonly (readonly number[])[]): BytesTensor {
  const bytes = new Uint8Array(Float32Array.from(rows.flat()).buffer);
  return { kind: "bytes", name: "X", datatype: "FP32", shape: [rows.length, rows[0]?.length ?? 0], bytes };
}

function uint8(rows: readonly (readonly number[])[]): BytesTensor {
  const bytes = Uint8Array.from(rows.flat());
  return { kind: "bytes", name: "X", datatype: "UINT8", shape: [rows.length, rows[0]?.length ?? 0], bytes };
}

function ask(input: Tensor, keep: "keep" | "read"): InstanceRequest {
  return {
    id: "",
    inputs: [{ ...input, name: "X" }],
    outputs: ["Y"],
    batchSize: input.shape[0] ?? 0,
    parameters: {},
    ...(keep === "keep" && { keepOnDevice: ["Y"] }),
  };
}

function outputOf(outcome: InstanceOutcome | undefined): Tensor {
  if (outcome?.kind !== "response") throw new Error(JSON.stringify(outcome));
  const [output] = outcome.outputs;
  if (output === undefined) throw new Error("no output");
  return output;
}

function deviceOutputOf(outcome: InstanceOutcome | undefined): DeviceTensor {
  const output = outputOf(outcome);
  if (output.kind !== "device") throw new Error("the output is not on the GPU");
  return output;
}

function numbersOf(tensor: Tensor): readonly number[] {
  if (tensor.kind !== "bytes") throw new Error("the output is on the GPU");
  return tensor.datatype === "UINT8" ? [...tensor.bytes] : [...new Float32Array(tensor.bytes.slice().buffer)];
}

describe("outputs that stay on the GPU", () => {
  it("are the next model's input as they are, and are read once at the end", async () => {
    const { gpu, tensors, runs, load } = engine();
    const model = await load();
    const first = await model.execute([ask(fp32([[1, 2, 3, 4]]), "keep")]);
    const kept = deviceOutputOf(first.outcomes[0]);
    expect(kept).toMatchObject({ worker: "w1", name: "Y", datatype: "FP32", shape: [1, 4] });
    const second = await model.execute([ask(kept, "read")]);
    expect(numbersOf(outputOf(second.outcomes[0]))).toEqual([3, 4, 5, 6]);
    expect(runs).toEqual(["cpu > gpu-buffer", "gpu-buffer > cpu"]);
    expect([first.readbacks, second.readbacks]).toEqual([0, 1]);
    expect(gpu.liveBuffers).toBe(1);
    tensors.dispose(kept.handle);
    expect(gpu.liveBuffers).toBe(0);
  });

  it("outlive their session, and can be read", async () => {
    const { tensors, load } = engine();
    const model = await load();
    const { handle } = deviceOutputOf((await model.execute([ask(fp32([[1, 2, 3, 4]]), "keep")])).outcomes[0]);
    await model.release();
    expect([...new Float32Array((await tensors.read(handle)).buffer)]).toEqual([2, 3, 4, 5]);
    tensors.dispose(handle);
    await expect(tensors.read(handle)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("of a batch lie in one buffer, which goes with the last of them, and are joined again in any order", async () => {
    const { gpu, tensors, runs, load } = engine();
    const model = await load();
    const { outcomes } = await model.execute([
      ask(fp32([[1, 1, 1, 1]]), "keep"),
      ask(
        fp32([
          [2, 2, 2, 2],
          [3, 3, 3, 3],
        ]),
        "keep",
      ),
    ]);
    const [one, two] = outcomes.map(deviceOutputOf);
    if (one === undefined || two === undefined) throw new Error("two outputs");
    expect(gpu.liveBuffers).toBe(1);
    const joined = await model.execute([
      ask(two, "read"),
      ask(fp32([[9, 9, 9, 9]]), "read"),
      ask(one, "read"),
    ]);
    expect(joined.outcomes.map((outcome) => numbersOf(outputOf(outcome)))).toEqual([
      [4, 4, 4, 4, 5, 5, 5, 5],
      [10, 10, 10, 10],
      [3, 3, 3, 3],
    ]);
    expect(runs).toEqual(["cpu > gpu-buffer", "gpu-buffer > cpu"]);
    expect(joined.readbacks).toBe(1);
    tensors.dispose(one.handle);
    expect(gpu.liveBuffers).toBe(1);
    const alone = await model.execute([ask(two, "read")]);
    expect(numbersOf(outputOf(alone.outcomes[0]))).toEqual([4, 4, 4, 4, 5, 5, 5, 5]);
    tensors.dispose(two.handle);
    expect(gpu.liveBuffers).toBe(0);
  });

  it("are given as bytes where one request of the batch wants them so", async () => {
    const { gpu, load } = engine();
    const model = await load();
    const { outcomes, readbacks } = await model.execute([
      ask(fp32([[1, 1, 1, 1]]), "keep"),
      ask(fp32([[2, 2, 2, 2]]), "read"),
    ]);
    expect(outcomes.map((outcome) => numbersOf(outputOf(outcome)))).toEqual([
      [2, 2, 2, 2],
      [3, 3, 3, 3],
    ]);
    expect([readbacks, gpu.liveBuffers]).toEqual([1, 0]);
  });

  it("stay alone, but not in a batch, where rows have sizes that cannot be copied", async () => {
    const { gpu, tensors, load } = engine();
    const model = await load({ elements: "UINT8", width: 3 });
    const alone = await model.execute([ask(uint8([[1, 2, 3]]), "keep")]);
    const kept = deviceOutputOf(alone.outcomes[0]);
    const together = await model.execute([ask(kept, "keep"), ask(uint8([[7, 8, 9]]), "keep")]);
    expect(together.outcomes.map((outcome) => numbersOf(outputOf(outcome)))).toEqual([
      [3, 4, 5],
      [8, 9, 10],
    ]);
    expect(together.readbacks, "the input and the output").toBe(2);
    tensors.dispose(kept.handle);
    expect(gpu.liveBuffers).toBe(0);
  });

  it("become bytes for good where the engine cannot write them there", async () => {
    const { gpu, log, runs, load } = engine();
    const model = await load({ refusesBuffers: true });
    for (let round = 0; round < 2; round += 1) {
      const { outcomes } = await model.execute([ask(fp32([[1, 2, 3, 4]]), "keep")]);
      expect(numbersOf(outputOf(outcomes[0]))).toEqual([2, 3, 4, 5]);
    }
    expect(gpu.liveBuffers).toBe(0);
    expect(runs).toEqual(["cpu > gpu-buffer", "cpu > cpu", "cpu > cpu"]);
    expect(log).toEqual([
      "'Y' cannot stay on the GPU and will be read from there: the output has another shape",
    ]);
  });

  it("leave an error of the model as it is", async () => {
    const { gpu, log, runs, load } = engine();
    const model = await load({ declared: 2 });
    const wrong = await model.execute([ask(fp32([[1, 2, 3, 4]]), "keep")]);
    expect(wrong.outcomes[0]).toMatchObject({ kind: "error" });
    expect(gpu.liveBuffers).toBe(0);
    expect(runs).toEqual(["cpu > gpu-buffer", "cpu > cpu"]);
    expect(log).toEqual([]);
  });
});

describe("an input that lies on the GPU", () => {
  it("fails alone where it is not there any more", async () => {
    const { tensors, load } = engine();
    const model = await load();
    const kept = deviceOutputOf((await model.execute([ask(fp32([[1, 1, 1, 1]]), "keep")])).outcomes[0]);
    tensors.dispose(kept.handle);
    const { outcomes } = await model.execute([ask(kept, "read"), ask(fp32([[1, 1, 1, 1]]), "read")]);
    expect(outcomes[0]).toEqual({
      kind: "error",
      error: {
        code: "UNAVAILABLE",
        message: "inference input 'X' lies on a device: it is not on the GPU any more",
      },
    });
    expect(numbersOf(outputOf(outcomes[1]))).toEqual([2, 2, 2, 2]);
  });

  it("is refused where it has not the size of its shape", async () => {
    const { load } = engine();
    const model = await load();
    const kept = deviceOutputOf((await model.execute([ask(fp32([[1, 1, 1, 1]]), "keep")])).outcomes[0]);
    const { outcomes } = await model.execute([ask({ ...kept, shape: [2, 4] }, "read")]);
    expect(outcomes[0]).toMatchObject({
      error: { message: "unexpected total byte size 16 for inference input 'X', expecting 32" },
    });
  });
});

describe("an error of the GPU, which is reported when something is read", () => {
  it("spoils what was written since the last read, and not what was read before", async () => {
    const { gpu, tensors, load } = engine();
    const model = await load();
    const keep = async (value: number): Promise<DeviceTensor> =>
      deviceOutputOf((await model.execute([ask(fp32([[value, 0, 0, 0]]), "keep")])).outcomes[0]);
    const sound = await keep(1);
    await tensors.read(sound.handle);
    const spoilt = await keep(2);
    gpu.fail("out of memory");
    await expect(tensors.read(spoilt.handle)).rejects.toMatchObject({ code: "INTERNAL" });
    const { outcomes } = await model.execute([ask(spoilt, "read"), ask(sound, "read")]);
    expect(outcomes[0]).toEqual({
      kind: "error",
      error: {
        code: "INTERNAL",
        message: "inference input 'X' lies on a device: the GPU has reported an error since it was written",
      },
    });
    expect(numbersOf(outputOf(outcomes[1]))).toEqual([3, 2, 2, 2]);
  });

  it("is not blamed on whoever happens to run then", async () => {
    const { gpu, load } = engine();
    const model = await load();
    const spoilt = deviceOutputOf((await model.execute([ask(fp32([[1, 0, 0, 0]]), "keep")])).outcomes[0]);
    gpu.fail("out of memory");
    const { outcomes } = await model.execute([ask(fp32([[5, 0, 0, 0]]), "read"), ask(spoilt, "read")]);
    expect(numbersOf(outputOf(outcomes[0]))).toEqual([6, 1, 1, 1]);
    expect(outcomes[1]).toMatchObject({ kind: "error", error: { code: "INTERNAL" } });
  });

  it("is its own where nothing was left before", async () => {
    const { gpu, load } = engine();
    const model = await load();
    gpu.fail("out of memory");
    const { outcomes } = await model.execute([ask(fp32([[5, 0, 0, 0]]), "read")]);
    expect(outcomes[0]).toEqual({
      kind: "error",
      error: { code: "INTERNAL", message: "the GPU reports an error: out of memory" },
    });
  });
});
