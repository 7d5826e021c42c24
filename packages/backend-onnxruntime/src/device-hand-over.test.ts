import type { InstanceOutcome, InstanceRequest } from "@naiad/core";
import type { BytesTensor, DeviceTensor, Tensor } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { engine } from "../test/adding-engine.ts";

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
