import { byteSourceOf, parseConfigText, readOnnxModel } from "@naiad/model-config";
import { affineModel } from "@naiad/testing/fixture-models";
import type { InferenceSession, Tensor as OrtTensor } from "onnxruntime-web";
import * as realOrt from "onnxruntime-web";
import type { FakeBuffer, FakeGpu } from "./fake-gpu.ts";
import { fakeGpu } from "./fake-gpu.ts";
import type { DeviceTensors } from "../src/device-tensors.ts";
import { createDeviceTensors } from "../src/device-tensors.ts";
import type { Ort } from "../src/engine.ts";
import type { GpuContext } from "../src/gpu-context.ts";
import type { OnnxInstance } from "../src/instance.ts";
import { createOnnxInstance } from "../src/instance.ts";

export type Elements = "FP32" | "UINT8";
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
export function engine(): Engine {
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
