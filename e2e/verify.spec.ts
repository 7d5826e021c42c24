import type { InstanceReport, StartServerOptions } from "naiad";
import type { Page } from "./fixtures.ts";
import { expect, test } from "./fixtures.ts";
import { errorOf, inferJson, parsed, range, send } from "./requests.ts";

// The engine's WebGPU build computes a convolution over 129 channels wrongly, without an error.

const REASON =
  /^runs on the CPU because the GPU cannot run it: its results are not those of the CPU: output 'OUTPUT' differs by [\d.]+ at element \d+, where [\d.]+ is allowed \(INPUT \[1,129,8\]\)$/;

interface Start {
  readonly log: readonly string[];
  readonly instances: readonly InstanceReport[];
}

async function started(page: Page, options: Partial<StartServerOptions>): Promise<Start> {
  return page.evaluate(async (given) => {
    const log: string[] = [];
    await window.test.start({
      allowSoftwareGpu: true,
      ...given,
      onEvent: (event) => {
        if (event.kind === "log") log.push(`${event.level}: ${event.message}`);
      },
    });
    return { log, instances: await window.test.server.instances() };
  }, options);
}

function providers({ instances }: Start): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(instances.map(({ modelName, device }) => [modelName, device?.executionProvider]));
}

test("a model that WebGPU computes wrongly is caught and runs on WASM; others stay, and none is compared twice", async ({
  blank,
}) => {
  const models = ["conv_128", "conv_129", "mlp_2x128_gpu"];
  const first = await started(blank, { loadModels: models, verify: "always" });
  expect(providers(first)).toEqual({ conv_128: "webgpu", conv_129: "wasm", mlp_2x128_gpu: "webgpu" });
  const moved = first.instances.find(({ modelName }) => modelName === "conv_129");
  expect(moved?.note).toMatch(REASON);
  const note = moved?.note ?? "";
  expect(first.log).toContain(`warning: instance conv_129_0 of model conv_129 ${note}`);
  const index = JSON.parse((await send(blank, "POST", "/v2/repository/index")).body) as unknown;
  expect(index).toContainEqual(
    expect.objectContaining({ name: "conv_129", state: "READY", reason: `instance conv_129_0 ${note}` }),
  );

  // All inputs are one, so each output is the sum of what the kernel has inside the image.
  const inputs = [{ name: "INPUT", datatype: "FP32", shape: [1, 129, 8], data: range(129 * 8).map(() => 1) }];
  const outputs = parsed(await inferJson(blank, "conv_129", inputs)).outputs[0]?.data as readonly number[];
  const inner = [2, 3, 4, 5].map((position) => outputs[position]);
  expect(new Set(inner.map((value) => value?.toFixed(4))).size).toBe(1);

  await blank.reload();
  await blank.waitForFunction(() => "test" in window);
  const second = await started(blank, { loadModels: models, verify: "always" });
  expect(providers(second)).toEqual(providers(first));
  expect(second.instances.find(({ modelName }) => modelName === "conv_129")?.note).toBe(note);
  const comparisons = ({ log }: Start): readonly string[] =>
    log.filter((line) => line.includes("are compared"));
  expect(comparisons(first)).toHaveLength(3);
  expect(comparisons(second)).toEqual([]);
});

test("by default only models that leave the choice to the server are compared", async ({ blank }) => {
  const start = await started(blank, { loadModels: ["conv_129", "mlp_2x128_gpu"] });
  expect(providers(start)).toEqual({ conv_129: "wasm", mlp_2x128_gpu: "webgpu" });
  expect(start.log.filter((line) => line.includes("are compared"))).toEqual([
    "info: the results of model conv_129 on the GPU are compared with those of the CPU",
  ]);
});

test("verify off trusts the GPU, and gpuFallback error refuses what it computes wrongly", async ({
  blank,
}) => {
  const start = await started(blank, { gpuFallback: "error", verify: "off", loadModels: ["conv_129"] });
  expect(providers(start)).toEqual({ conv_129: "webgpu" });
  const config = JSON.stringify({
    backend: "onnxruntime",
    max_batch_size: 8,
    input: [{ name: "INPUT", data_type: "TYPE_FP32", dims: [129, 8] }],
    output: [{ name: "OUTPUT", data_type: "TYPE_FP32", dims: [4, 8] }],
    instance_group: [{ kind: "KIND_GPU", count: 1 }],
    parameters: { verify: { string_value: "always" } },
  });
  const answer = await send(
    blank,
    "POST",
    "/v2/repository/models/conv_129/load",
    JSON.stringify({ parameters: { config } }),
  );
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toMatch(
    /^load failed for model 'conv_129': .*its results are not those of the CPU/,
  );
});
