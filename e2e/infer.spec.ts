import { expect, test } from "./fixtures.ts";
import { errorOf, inferJson, parsed, range, send, SIMPLE_INPUTS } from "./requests.ts";

test.describe("plain fetch", () => {
  test.beforeEach(async ({ blank, start }) => {
    await start(blank, { loadModels: ["simple", "identity_int64", "identity_bytes"] });
  });

  test("health, metadata and index", async ({ blank }) => {
    expect(await send(blank, "GET", "/v2/health/live")).toEqual({ status: 200, body: "", marked: true });
    expect(await send(blank, "GET", "/v2/health/ready")).toMatchObject({ status: 200 });
    expect(await send(blank, "GET", "/v2/models/simple/ready")).toMatchObject({ status: 200 });
    const server = JSON.parse((await send(blank, "GET", "/v2")).body) as {
      name: string;
      extensions: string[];
    };
    expect(server.name).toBe("triton");
    expect(server.extensions).toContain("binary_tensor_data");
    const metadata = JSON.parse((await send(blank, "GET", "/v2/models/simple")).body) as unknown;
    expect(metadata).toEqual({
      name: "simple",
      versions: ["1"],
      platform: "onnxruntime_onnx",
      inputs: [
        { name: "INPUT0", datatype: "INT32", shape: [-1, 16] },
        { name: "INPUT1", datatype: "INT32", shape: [-1, 16] },
      ],
      outputs: [
        { name: "OUTPUT0", datatype: "INT32", shape: [-1, 16] },
        { name: "OUTPUT1", datatype: "INT32", shape: [-1, 16] },
      ],
    });
    const index = JSON.parse((await send(blank, "POST", "/v2/repository/index")).body) as {
      name: string;
      state?: string;
    }[];
    expect(index).toContainEqual({
      name: "simple",
      version: "1",
      state: "READY",
      instances: [{ name: "simple_0_0", execution_provider: "wasm", build: "wasm", threads: 1 }],
    });
    expect(index).toContainEqual({ name: "cnn_224" });
  });

  test("JSON tensors in and out", async ({ blank }) => {
    expect(parsed(await inferJson(blank, "simple", SIMPLE_INPUTS))).toEqual({
      model_name: "simple",
      model_version: "1",
      outputs: [
        { name: "OUTPUT0", datatype: "INT32", shape: [1, 16], data: range(16, 1) },
        { name: "OUTPUT1", datatype: "INT32", shape: [1, 16], data: range(16, -1) },
      ],
    });
  });

  test("integers beyond 2^53 and strings survive", async ({ blank }) => {
    const body = `{"inputs":[{"name":"INPUT0","datatype":"INT64","shape":[1,2],"data":[9223372036854775807,-9007199254740993]}]}`;
    const integers = await send(blank, "POST", "/v2/models/identity_int64/infer", body);
    expect(integers.body).toContain('"data":[9223372036854775807,-9007199254740993]');
    const strings = await inferJson(blank, "identity_bytes", [
      { name: "INPUT0", datatype: "BYTES", shape: [1, 3], data: ["", "Grüße", "日本"] },
    ]);
    expect(parsed(strings).outputs[0]?.data).toEqual(["", "Grüße", "日本"]);
  });

  test("classification with the model's labels", async ({ blank }) => {
    await blank.evaluate(() => window.test.server.client.loadModel("classifier"));
    const metadata = JSON.parse((await send(blank, "GET", "/v2/models/classifier")).body) as {
      readonly inputs: readonly { readonly name: string; readonly shape: readonly number[] }[];
      readonly outputs: readonly { readonly name: string }[];
    };
    const [input] = metadata.inputs;
    const [output] = metadata.outputs;
    if (input === undefined || output === undefined) throw new Error("one input, one output");
    const width = input.shape.at(-1) ?? 0;
    const body = {
      inputs: [{ name: input.name, datatype: "FP32", shape: [1, width], data: range(width) }],
      outputs: [{ name: output.name, parameters: { classification: 2 } }],
    };
    const answer = await send(blank, "POST", "/v2/models/classifier/infer", JSON.stringify(body));
    const [best] = parsed(answer).outputs;
    expect(best).toMatchObject({ datatype: "BYTES", shape: [1, 2] });
    expect(best?.data[0]).toMatch(/^\d\.\d{6}:\d:[a-z]+$/);
  });

  test("binary tensors in and out", async ({ blank }) => {
    const result = await blank.evaluate(async () => {
      const input = Int32Array.from({ length: 16 }, (_, index) => index * 3);
      const head = new TextEncoder().encode(
        JSON.stringify({
          inputs: ["INPUT0", "INPUT1"].map((name) => ({
            name,
            datatype: "INT32",
            shape: [1, 16],
            parameters: { binary_data_size: input.byteLength },
          })),
          outputs: [{ name: "OUTPUT0", parameters: { binary_data: true } }],
        }),
      );
      const response = await fetch("/v2/models/simple/infer", {
        method: "POST",
        headers: { "Inference-Header-Content-Length": String(head.length) },
        body: new Blob([head, input, input]),
      });
      const bytes = await response.arrayBuffer();
      const headLength = Number(response.headers.get("Inference-Header-Content-Length"));
      return {
        status: response.status,
        type: response.headers.get("content-type"),
        outputs: (JSON.parse(new TextDecoder().decode(bytes.slice(0, headLength))) as { outputs: unknown })
          .outputs,
        sum: [...new Int32Array(bytes.slice(headLength))],
      };
    });
    expect(result).toEqual({
      status: 200,
      type: "application/octet-stream",
      outputs: [{ name: "OUTPUT0", datatype: "INT32", shape: [1, 16], parameters: { binary_data_size: 64 } }],
      sum: range(16).map((index) => index * 6),
    });
  });

  test("Triton's answers to bad requests", async ({ blank }) => {
    const infer = "/v2/models/simple/infer";
    const [first, second] = SIMPLE_INPUTS;
    if (first === undefined || second === undefined) throw new Error("two inputs");

    const unknown = await send(blank, "POST", "/v2/models/nothing/infer", "{}");
    expect([unknown.status, errorOf(unknown)]).toEqual([
      404,
      "Request for unknown model: 'nothing' is not found",
    ]);

    const broken = await send(blank, "POST", infer, "{");
    expect(broken.status).toBe(500);
    expect(errorOf(broken)).toMatch(/^failed to parse the request JSON buffer: .* at \d+$/);

    const shape = await inferJson(blank, "simple", [{ ...first, shape: [1, 8], data: range(8) }, second]);
    expect(shape.status).toBe(400);
    expect(errorOf(shape)).toMatch(
      /^\[request id: <id_unknown>\] unexpected shape for input 'INPUT0' for model 'simple'. Expected \[-1,16\], got \[1,8\]. NOTE: /,
    );

    const rows = range(144);
    const batch = await inferJson(blank, "simple", [
      { ...first, shape: [9, 16], data: rows },
      { ...second, shape: [9, 16], data: rows },
    ]);
    expect([batch.status, errorOf(batch)]).toEqual([
      400,
      "[request id: <id_unknown>] inference request batch-size must be <= 8 for 'simple'",
    ]);

    const datatype = await inferJson(blank, "simple", [{ ...first, datatype: "FP32" }, second]);
    expect([datatype.status, errorOf(datatype)]).toEqual([
      400,
      "[request id: <id_unknown>] inference input 'INPUT0' data-type is 'FP32', but model 'simple' expects 'INT32'",
    ]);

    const short = await inferJson(blank, "simple", [{ ...first, data: range(15) }, second]);
    expect(short.status).toBe(500);
    expect(errorOf(short)).toMatch(/Unable to parse 'data': Shape does not match true shape of 'data' field/);

    expect(await send(blank, "GET", infer)).toMatchObject({
      status: 405,
      body: '{"error":"Method Not Allowed"}',
    });
    expect(await send(blank, "GET", "/v2/nowhere")).toMatchObject({
      status: 404,
      body: '{"error":"Not Found"}',
    });
  });
});

test("WASM and WebGPU give the same numbers", async ({ blank, start }) => {
  test.setTimeout(120_000);
  await start(blank, { loadModels: ["mlp_2x128", "mlp_2x128_gpu"], allowSoftwareGpu: true });
  const { outputs, providers } = await blank.evaluate(async () => {
    const { client } = window.test.server;
    const data = Float32Array.from({ length: 256 }, (_, index) => Math.sin(index));
    const run = async (modelName: string): Promise<number[]> => {
      const result = await client.infer({ modelName, inputs: { INPUT: { data, shape: [2, 128] } } });
      return [...(result.outputs["OUTPUT"]?.data as Float32Array)];
    };
    const instances = await window.test.server.instances();
    return {
      outputs: [await run("mlp_2x128"), await run("mlp_2x128_gpu")] as const,
      providers: Object.fromEntries(
        instances.map(({ modelName, device }) => [modelName, device?.executionProvider]),
      ),
    };
  });
  expect(providers).toEqual({ mlp_2x128: "wasm", mlp_2x128_gpu: "webgpu" });
  const [wasm, webgpu] = outputs;
  expect(wasm).toHaveLength(32);
  expect(Math.max(...wasm.map(Math.abs))).toBeGreaterThan(0.01);
  wasm.forEach((value, index) => expect(Math.abs(value - (webgpu[index] ?? Number.NaN))).toBeLessThan(1e-4));
});

test("a GPU model runs on WASM where there is no GPU, and says so", async ({ blank, start }) => {
  await start(blank, { loadModels: ["mlp_2x128_gpu"] });
  const [instance] = await blank.evaluate(() => window.test.server.instances());
  expect(instance?.device?.executionProvider).toBe("wasm");
  expect(instance?.note).toMatch(/GPU/);
});
