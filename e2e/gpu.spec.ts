import type { InstanceReport } from "naiad";
import type { Page } from "./fixtures.ts";
import { expect, test } from "./fixtures.ts";
import { errorOf, inferJson, parsed, range, send } from "./requests.ts";

// A page that really uses the GPU costs seconds on a software adapter: four here.

/** The fixture's own configuration says KIND_CPU. */
const BATCHER_ON_GPU = JSON.stringify({
  backend: "onnxruntime",
  max_batch_size: 16,
  input: [{ name: "INPUT", data_type: "TYPE_FP32", dims: [4] }],
  output: [{ name: "OUTPUT", data_type: "TYPE_FP32", dims: [4] }],
  instance_group: [{ kind: "KIND_GPU", count: 1 }],
});

const TEXT_INPUTS = ["INPUT0", "INPUT1"].map((name, index) => ({
  name,
  datatype: "BYTES",
  shape: [1, 16],
  data: range(16, index * 100).map(String),
}));

async function instanceOf(page: Page, model: string): Promise<InstanceReport | undefined> {
  const instances = await page.evaluate(() => window.test.server.instances());
  return instances.find(({ modelName }) => modelName === model);
}

async function mlp(page: Page, model: string): Promise<readonly number[]> {
  const data = range(128).map((index) => Math.cos(index));
  const inputs = [{ name: "INPUT", datatype: "FP32", shape: [1, 128], data }];
  return parsed(await inferJson(page, model, inputs)).outputs[0]?.data as readonly number[];
}

function expectClose(actual: readonly number[], expected: readonly number[]): void {
  expect(actual).toHaveLength(expected.length);
  const distance = Math.max(
    ...actual.map((value, index) => Math.abs(value - (expected[index] ?? Number.NaN))),
  );
  expect(distance).toBeLessThan(1e-4);
}

test("two WebGPU models of one worker run at the same time as far as their callers can tell", async ({
  blank,
  start,
}) => {
  await start(blank, { allowSoftwareGpu: true, loadModels: ["mlp_2x128", "mlp_2x128_gpu"] });
  await blank.evaluate(
    (config) => window.test.server.client.loadModel("batcher", { config }),
    BATCHER_ON_GPU,
  );
  for (const model of ["mlp_2x128_gpu", "batcher"]) {
    expect((await instanceOf(blank, model))?.device?.executionProvider).toBe("webgpu");
  }
  // Two layers of 128 by 128 FP32 are there at least.
  const metrics = await blank.evaluate(() => window.test.server.client.metrics());
  const [, bufferBytes] = /^naiad_gpu_buffer_bytes\{worker="gpu:0:0"\} (\d+)$/m.exec(metrics) ?? [];
  expect(Number(bufferBytes)).toBeGreaterThan(2 * 128 * 128 * 4);
  expect(metrics).toMatch(/^naiad_gpu_info\{adapter="0",/m);

  const expected = await mlp(blank, "mlp_2x128");
  const rounds = await Promise.all(
    range(4).map(async (round) => {
      const row = [{ name: "INPUT", datatype: "FP32", shape: [1, 4], data: [round, 1, 2, 3] }];
      return await Promise.all([mlp(blank, "mlp_2x128_gpu"), inferJson(blank, "batcher", row)]);
    }),
  );
  for (const [round, [deep, affine]] of rounds.entries()) {
    expectClose(deep, expected);
    expect(parsed(affine).outputs[0]?.data).toEqual([2 * round + 1, 3, 5, 7]);
  }
});

test("a model that the GPU cannot run goes to WASM; log, instance and index say why", async ({ blank }) => {
  const warnings = await blank.evaluate(async () => {
    const heard: string[] = [];
    await window.test.start({
      allowSoftwareGpu: true,
      loadModels: ["simple_string", "fp16_add"],
      onEvent: (event) => {
        if (event.kind === "log" && event.level === "warning") heard.push(event.message);
      },
    });
    return heard;
  });
  const index = JSON.parse((await send(blank, "POST", "/v2/repository/index")).body) as unknown;

  // What the engine's GPU build has no kernel for, and what this adapter lacks.
  const reasons = [
    ["simple_string", /^runs on the CPU because the GPU cannot run it: cannot run on WebGPU: .*Cast/],
    [
      "fp16_add",
      /^runs on the CPU: tensor 'INPUT0' is TYPE_FP16, for which the GPU lacks the feature shader-f16$/,
    ],
  ] as const;
  for (const [model, reason] of reasons) {
    const instance = await instanceOf(blank, model);
    expect(instance).toMatchObject({ state: "ready", device: { executionProvider: "wasm" } });
    expect(instance?.note).toMatch(reason);
    const note = instance?.note ?? "";
    expect(warnings).toContain(`instance ${model}_0_0 of model ${model} ${note}`);
    const line = { name: model, version: "1", state: "READY", reason: `instance ${model}_0_0 ${note}` };
    expect(index).toContainEqual(expect.objectContaining(line));
  }

  const texts = parsed(await inferJson(blank, "simple_string", TEXT_INPUTS));
  expect(texts.outputs[0]?.data).toEqual(range(16).map((value) => String(2 * value + 100)));
  const sum = await blank.evaluate(async () => {
    const data = Array.from({ length: 16 }, (_, position) => position - 7.5);
    const input = { data, datatype: "FP16", shape: [1, 16] } as const;
    const result = await window.test.server.client.infer({
      modelName: "fp16_add",
      inputs: { INPUT0: input, INPUT1: input },
    });
    return Array.from(result.outputs["OUTPUT0"]?.data as ArrayLike<number>, Number);
  });
  expect(sum).toEqual(range(16).map((position) => 2 * position - 15));
});

test("gpuFallback error refuses what the GPU cannot run", async ({ blank, start }) => {
  await start(blank, { allowSoftwareGpu: true, gpuFallback: "error" });
  const load = (model: string) => send(blank, "POST", `/v2/repository/models/${model}/load`);
  const noKernel = await load("simple_string");
  expect(noKernel.status).toBe(400);
  expect(errorOf(noKernel)).toMatch(
    /^load failed for model 'simple_string': version 1 is at UNAVAILABLE state: .*cannot run on WebGPU: .*Cast/,
  );
  const noHalves = await load("fp16_add");
  expect(noHalves.status).toBe(400);
  expect(errorOf(noHalves)).toContain(
    "instance 'fp16_add_0_0' cannot run on the GPU: tensor 'INPUT0' is TYPE_FP16, for which the GPU lacks the feature shader-f16",
  );
});

test("gpuFallback error where there is no GPU gives Triton's text", async ({ blank, start }) => {
  await start(blank, { gpuFallback: "error" });
  const answer = await send(blank, "POST", "/v2/repository/models/mlp_2x128_gpu/load");
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toContain(
    "instance group mlp_2x128_gpu_0 of model mlp_2x128_gpu has kind KIND_GPU but no GPUs are available",
  );
});

test("the GPU process crashes: the next request is answered by a new device", async ({
  blank,
  browser,
  start,
}) => {
  await start(blank, { allowSoftwareGpu: true, loadModels: ["mlp_2x128", "mlp_2x128_gpu"] });
  const expected = await mlp(blank, "mlp_2x128");
  expectClose(await mlp(blank, "mlp_2x128_gpu"), expected);

  const session = await browser.newBrowserCDPSession();
  await session.send("Browser.crashGpuProcess");
  expectClose(await mlp(blank, "mlp_2x128_gpu"), expected);
  expect(await instanceOf(blank, "mlp_2x128_gpu")).toMatchObject({
    state: "ready",
    replacements: 1,
    device: { executionProvider: "webgpu" },
  });
});
