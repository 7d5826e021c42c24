import { expect, test } from "./fixtures.ts";
import { errorOf, inferJson, parsed, range } from "./requests.ts";

test("an initializer that is also an input may be given or left out", async ({ blank, start }) => {
  await start(blank, { loadModels: ["optional_input"] });
  const input = { name: "INPUT", datatype: "FP32", shape: [4], data: [10, 20, 30, 40] };
  const bias = { name: "BIAS", datatype: "FP32", shape: [4], data: [0.5, 0.5, 0.5, 0.5] };
  const without = parsed(await inferJson(blank, "optional_input", [input]));
  expect(without.outputs[0]?.data).toEqual([11, 22, 33, 44]);
  const withBias = parsed(await inferJson(blank, "optional_input", [bias, input]));
  expect(withBias.outputs[0]?.data).toEqual([10.5, 20.5, 30.5, 40.5]);
  const neither = await inferJson(blank, "optional_input", [bias]);
  expect(neither.status).toBe(400);
  expect(errorOf(neither)).toContain("'INPUT'");
});

test("accelerators that the browser lacks are passed over, and the log says so", async ({ blank }) => {
  const config = JSON.stringify({
    backend: "onnxruntime",
    max_batch_size: 32,
    input: [{ name: "INPUT", data_type: "TYPE_FP32", dims: [128] }],
    output: [{ name: "OUTPUT", data_type: "TYPE_FP32", dims: [16] }],
    instance_group: [{ kind: "KIND_GPU", count: 1 }],
    optimization: {
      execution_accelerators: {
        gpu_execution_accelerator: [
          { name: "tensorrt" },
          { name: "webnn", parameters: { device_type: "npu" } },
          { name: "webgpu", parameters: { preferred_layout: "NHWC" } },
        ],
      },
    },
    parameters: { arena_extend_strategy: { string_value: "0" } },
  });
  const { warnings, providers } = await blank.evaluate(async (given) => {
    const heard: string[] = [];
    const server = await window.test.start({
      allowSoftwareGpu: true,
      onEvent: (event) => {
        if (event.kind === "log" && event.level === "warning") heard.push(event.message);
      },
    });
    await server.client.loadModel("mlp_2x128", { config: given });
    const instances = await server.instances();
    return { warnings: heard, providers: instances.map(({ device }) => device?.executionProvider) };
  }, config);
  expect(providers).toEqual(["webgpu"]);
  expect(warnings).toEqual([
    "model 'mlp_2x128': the gpu execution accelerator 'tensorrt' is not to be had in a browser, where there is webgpu and webnn",
    "model 'mlp_2x128': parameter 'arena_extend_strategy' is without effect here",
    "mlp_2x128_0_0: WebNN is not available in this browser",
  ]);
  const inputs = [{ name: "INPUT", datatype: "FP32", shape: [1, 128], data: range(128).map(() => 1) }];
  expect(parsed(await inferJson(blank, "mlp_2x128", inputs)).outputs[0]?.data).toHaveLength(16);
});
