import * as ort from "onnxruntime-web";
import { batchSignature, parseConfigText } from "@naiad/model-config";
import type { InferenceSession } from "onnxruntime-web";
import { describe, expect, it } from "vitest";
import type { GpuContext } from "./gpu-context.ts";
import { selfCheck } from "./self-check.ts";
import type { SessionIo, SessionTensor } from "./session-io.ts";

type Run = (feeds: InferenceSession.FeedsType) => Promise<InferenceSession.ReturnType>;

const F16_MISSING =
  "failed to call OrtRun(). ERROR_CODE: 1, ERROR_MESSAGE: Program Add requires f16 but the device does not support it.";

function tensor(name: string, fields: Partial<SessionTensor>): SessionTensor {
  return { name, datatype: "FP32", shape: [-1, 2], isConfigured: true, isScalar: false, ...fields };
}

interface Checked {
  readonly error: unknown;
  readonly log: readonly string[];
  readonly fed: readonly InferenceSession.FeedsType[];
}

/** A session that does what `run` does, and a GPU that then reports `gpuErrors`. */
async function check(
  inputs: readonly SessionTensor[],
  run: Run,
  gpuErrors: readonly string[] = [],
): Promise<Checked> {
  const log: string[] = [];
  const fed: InferenceSession.FeedsType[] = [];
  const pending: string[] = ["an error of another model"];
  const session = {
    run: async (feeds: InferenceSession.FeedsType) => {
      fed.push(feeds);
      pending.push(...gpuErrors);
      return run(feeds);
    },
  } as unknown as InferenceSession;
  const gpu = { takeErrors: () => pending.splice(0) } as unknown as GpuContext;
  const batch = batchSignature(parseConfigText("", { fileName: "" }));
  const io: SessionIo = { modelName: "m", isBatching: true, inputs, outputs: [tensor("Y", {})], batch };
  const hooks = { onRun: () => undefined, log: (_: string, message: string) => log.push(message) };
  const error = await selfCheck({ ort, session, io, target: { kind: "webgpu", gpu }, hooks }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, log, fed };
}

const fine: Run = () => Promise.resolve({});
const failing =
  (message: string): Run =>
  () =>
    Promise.reject(new Error(message));

describe("selfCheck", () => {
  it("makes up one row of ones, zeros and empty texts", async () => {
    const inputs = [
      tensor("X", {}),
      tensor("H", { datatype: "FP16", shape: [-1, 1] }),
      tensor("I", { datatype: "INT64", shape: [-1, -1] }),
      tensor("T", { datatype: "BYTES", shape: [-1, 2] }),
      tensor("S", { shape: [1], isScalar: true }),
    ];
    const { error, fed } = await check(inputs, fine);
    expect(error).toBeUndefined();
    const [feeds] = fed;
    expect(feeds?.["X"]).toMatchObject({ type: "float32", dims: [1, 2], data: Float32Array.of(1, 1) });
    expect(feeds?.["I"]).toMatchObject({ type: "int64", dims: [1, 1], data: BigInt64Array.of(0n) });
    expect(feeds?.["T"]).toMatchObject({ type: "string", data: ["", ""] });
    expect(feeds?.["H"]).toMatchObject({ type: "float16" });
    expect(feeds?.["S"]).toMatchObject({ dims: [] });
  });

  it("finds a feature that the GPU lacks, even with sizes that are made up", async () => {
    const { error } = await check([tensor("X", { shape: [-1, -1] })], failing(F16_MISSING));
    expect(error).toMatchObject({
      code: "UNSUPPORTED",
      message: "cannot run on WebGPU: Program Add requires f16 but the device does not support it.",
    });
  });

  it("believes an error of the GPU when the shapes are real", async () => {
    const message = "Buffer size (5368709120) exceeds the max buffer size limit (268435456).";
    const fixed = await check([tensor("X", {})], fine, [message]);
    expect(fixed.error).toMatchObject({ code: "UNSUPPORTED", message: `cannot run on WebGPU: ${message}` });
    const open = await check([tensor("X", { shape: [-1, -1] })], fine, [message]);
    expect(open.error).toBeUndefined();
    expect(open.log).toEqual([`model 'm' could not be checked on WebGPU with made-up inputs: ${message}`]);
  });

  it("proves nothing by another failure", async () => {
    const { error, log } = await check([tensor("X", {})], failing("the input shape cannot be reshaped"));
    expect(error).toBeUndefined();
    expect(log).toHaveLength(1);
  });

  it("leaves errors of others out of it", async () => {
    const { error, log } = await check([tensor("X", {})], fine);
    expect(error).toBeUndefined();
    expect(log).toEqual([]);
  });

  it("makes nothing up that is too large", async () => {
    const { fed } = await check([tensor("X", { shape: [-1, 100_000_000] })], fine);
    expect(fed).toEqual([]);
  });
});
