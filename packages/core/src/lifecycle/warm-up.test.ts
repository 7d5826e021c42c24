import { encodeBytesElements } from "@naiad/protocol";
import type { FakeBackendOptions, MemoryModel, ServerBench } from "@naiad/testing";
import { createServerBench, echoedValue, echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;
const { signal } = new AbortController();
const ZERO_X = 'inputs { key: "x" value { data_type: TYPE_INT32 dims: 1 zero_data: true } }';

function sample(text: string, name = "s"): string {
  return `model_warmup { name: "${name}" ${text} }`;
}

function benchOf(model: MemoryModel, backend: Omit<FakeBackendOptions, "clock"> = {}): ServerBench {
  return createServerBench({ models: { m: model }, backend });
}

/** What the instances were asked while they warmed up: rows of each execution and the bytes of its first request's inputs. */
async function warmUps(model: MemoryModel): Promise<readonly (readonly [number, ...number[][]])[]> {
  const bench = benchOf(model);
  await bench.start();
  await bench.load("m");
  return bench.backend.executions.map(({ requests }) => [
    requests.length,
    ...(requests[0]?.inputs ?? []).map((input) => (input.kind === "bytes" ? [...input.bytes] : [])),
  ]);
}

const TEXTS = `
  backend: "fake" max_batch_size: 4
  input { name: "t" data_type: TYPE_STRING dims: [2] }
  output { name: "y" data_type: TYPE_STRING dims: [2] }
`;
const textSample = (data: string): string =>
  `${TEXTS} ${sample(`batch_size: 1 inputs { key: "t" value { data_type: TYPE_STRING dims: 2 ${data} } }`)}`;

describe("warm-up", () => {
  it("executes zeros, random data and data files in the order of the configuration", async () => {
    const input = (data: string): string =>
      `batch_size: 1 inputs { key: "x" value { data_type: TYPE_INT32 dims: 1 ${data} } }`;
    const config = [
      sample(input("zero_data: true")),
      sample(input('input_data_file: "seven"')),
      sample(input("random_data: true")),
    ].join(" ");
    const runs = await warmUps({ ...echoModel([1], config), "warmup/seven": Uint8Array.of(7, 0, 0, 0, 9) });
    expect(runs.slice(0, 2)).toEqual([
      [1, [0, 0, 0, 0]],
      [1, [7, 0, 0, 0]],
    ]);
    expect(runs[2]?.[1]?.length).toBe(4);
    expect(runs[2]?.[1]).not.toEqual([0, 0, 0, 0]);
  });

  it.each([
    ["nothing for batch size 0", `batch_size: 0 count: 3 ${ZERO_X}`, []],
    ["once without a count", `batch_size: 1 ${ZERO_X}`, [1]],
    ["as often as count says", `batch_size: 1 count: 3 ${ZERO_X}`, [1, 1, 1]],
    ["a whole batch at once", `batch_size: 4 count: 2 ${ZERO_X}`, [4, 4]],
  ])("executes %s", async (_what, text, sizes) => {
    const runs = await warmUps(echoModel([1], sample(text)));
    expect(runs.map(([size]) => size)).toEqual(sizes);
  });

  it.each([
    ["zero_data: true", [0, 0, 0, 0, 0, 0, 0, 0]],
    ["random_data: true", [0, 0, 0, 0, 0, 0, 0, 0]],
    ['input_data_file: "texts"', [...encodeBytesElements(["a", "bc"])]],
  ])("gives a text input with %s its elements", async (data, bytes) => {
    const model = {
      "config.pbtxt": textSample(data),
      "1/m": "",
      "warmup/texts": encodeBytesElements(["a", "bc"]),
    };
    expect(await warmUps(model)).toEqual([[1, bytes]]);
  });

  it("sends an input that the configuration does not have as it sends the others", async () => {
    const start = 'inputs { key: "START" value { data_type: TYPE_INT32 dims: 1 zero_data: true } }';
    const bench = benchOf(echoModel([1], sample(`batch_size: 1 ${ZERO_X} ${start}`)));
    await bench.start();
    await bench.load("m");
    const [execution] = bench.backend.executions;
    expect(execution?.requests[0]?.inputs.map(({ name, shape }) => [name, shape])).toEqual([
      ["x", [1, 1]],
      ["START", [1, 1]],
    ]);
  });

  it("is a whole sequence, unless the sample says otherwise, for a model that wants sequences", async () => {
    const control = (name: string, rest: string): string =>
      `control_input { name: "${name}" control { ${rest} } }`;
    const batching = `sequence_batching {
      ${control("START", "kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1]")}
      ${control("READY", "kind: CONTROL_SEQUENCE_READY int32_false_true: [0, 1]")}
      ${control("ID", "kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING")}
      state { input_name: "s" output_name: "t" data_type: TYPE_INT32 dims: 2 } }`;
    const start = 'inputs { key: "START" value { data_type: TYPE_INT32 dims: 1 zero_data: true } }';
    const bench = benchOf(echoModel([1], `${batching} ${sample(`batch_size: 1 ${ZERO_X} ${start}`)}`));
    await bench.start();
    await bench.load("m");
    const [request] = bench.backend.executions[0]?.requests ?? [];
    const content = request?.inputs.map((input) => [
      input.name,
      input.shape.join(),
      input.kind === "bytes" ? [...input.bytes].join() : "",
    ]);
    expect(content).toEqual([
      ["x", "1,1", "0,0,0,0"],
      ["READY", "1,1", "1,0,0,0"],
      ["ID", "1,1", "1,0,0,0,49"],
      ["s", "1,2", "0,0,0,0,0,0,0,0"],
      ["START", "1,1", "0,0,0,0"],
    ]);
    expect(request?.outputs).toEqual(["y", "t"]);
  });

  it("happens on every instance before the model is ready, and asks for every output", async () => {
    const config = `instance_group { kind: KIND_CPU count: 2 } ${sample(`batch_size: 1 ${ZERO_X}`)}`;
    const bench = benchOf(echoModel([1], config), { latencyNs: 5 * MS });
    await bench.start();
    const loading = bench.load("m");
    await bench.until(() => bench.backend.runningCount === 2);
    expect(await bench.index()).toEqual(["m:1 LOADING"]);
    await bench.clock.advance(5 * MS);
    await loading;
    expect(bench.backend.executions.map(({ instanceName }) => instanceName).sort()).toEqual([
      "m_0_0",
      "m_0_1",
    ]);
    expect(bench.backend.executions[0]?.requests[0]?.outputs).toEqual(["y"]);
  });

  it("is in no statistics", async () => {
    const bench = benchOf(echoModel([1], sample(`batch_size: 2 count: 3 ${ZERO_X}`)));
    await bench.start();
    await bench.load("m");
    expect(bench.backend.executions).toHaveLength(3);
    const { model_stats } = await bench.server.modelStatistics(
      { modelName: "m", modelVersion: "" },
      { signal },
    );
    expect(model_stats[0]).toMatchObject({ inference_count: 0, execution_count: 0, batch_stats: [] });
    expect(bench.server.instances()[0]?.executionCount).toBe(0);
  });

  it("happens again on an instance that takes the place of a lost one, before that gets work", async () => {
    const bench = benchOf(echoModel([1], sample(`batch_size: 1 ${ZERO_X}`)));
    await bench.start();
    await bench.load("m");
    bench.backend.lose("m_0", { culprit: false });
    await bench.clock.settle();
    expect(echoedValue(await bench.infer("m", 5))).toBe(5);
    const runs = bench.backend.executions.map(({ generation, requests }) => {
      const [input] = requests[0]?.inputs ?? [];
      return [generation, input?.kind === "bytes" ? input.bytes[0] : undefined];
    });
    expect(runs).toEqual([
      [0, 0],
      [1, 0],
      [1, 5],
    ]);
  });

  it("ends with the load that it belongs to", async () => {
    const bench = benchOf(echoModel([1], sample(`batch_size: 1 count: 100 ${ZERO_X}`)), {
      latencyNs: 5 * MS,
    });
    await bench.start();
    const loading = bench.load("m").catch((thrown: unknown) => thrown);
    await bench.until(() => bench.backend.runningCount === 1);
    const stopped = bench.server.stop();
    await bench.clock.advance(5 * MS);
    await stopped;
    expect(String(await loading)).toContain("the server is stopping");
    expect(bench.liveInstances).toBe(0);
    expect(bench.backend.executions).toHaveLength(1);
  });
});

describe("a warm-up that fails", () => {
  const input = (rest: string): string => `inputs { key: "x" value { data_type: TYPE_INT32 ${rest} } }`;

  it.each([
    [
      "leaves a size open",
      sample(`batch_size: 1 ${input("dims: -1 zero_data: true")}`),
      "warmup setting expects all variable-size dimensions are specified for input 'x'",
    ],
    [
      "says nothing of its data",
      sample(`batch_size: 1 ${input("dims: 1")}`),
      "warmup setting expects input 'x' to have input_data_type set",
    ],
    [
      "has too little data",
      sample(`batch_size: 1 ${input('dims: 1 input_data_file: "short"')}`),
      "warmup setting expects 4 bytes, but the data provided from shortonly has 2 bytes",
    ],
    [
      "leaves an input out",
      sample("batch_size: 1"),
      "[request id: <id_unknown>] expected 1 inputs but got 0 inputs for model 'm'. Got input(s) [], but missing " +
        "required input(s) ['x']. Please provide all required input(s).",
    ],
    [
      "has another type than the model",
      sample('batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: 1 zero_data: true } }'),
      "[request id: <id_unknown>] inference input 'x' data-type is 'FP32', but model 'm' expects 'INT32'",
    ],
    [
      "has more rows than a batch",
      sample(`batch_size: 5 ${ZERO_X}`, "five"),
      `failed to run warmup sample 'five': ${"batch size 5 for 'm_0', max allowed is 4; ".repeat(5)}`,
    ],
  ])("because it %s fails the load", async (_why, config, reason) => {
    const bench = benchOf({ ...echoModel([1], config), "warmup/short": "ab" });
    await bench.start();
    await expect(bench.load("m")).rejects.toMatchObject({
      code: "INVALID_ARG",
      message: `load failed for model 'm': version 1 is at UNAVAILABLE state: Invalid argument: ${reason};\n`,
    });
    expect(await bench.index()).toEqual([`m:1 UNAVAILABLE Invalid argument: ${reason}`]);
    expect(bench.liveInstances).toBe(0);
  });

  it.each([
    ["9007199254740993", "tensor 'x' has a dimension of 9007199254740993, which is too large"],
    [
      "[4503599627370497, 3]",
      "tensor 'x' has 13510798882111491 elements of INT32, which is more than fits into memory",
    ],
  ])("because it asks for a tensor of %s elements fails the load", async (dims, text) => {
    const input = `inputs { key: "x" value { data_type: TYPE_INT32 dims: ${dims} zero_data: true } }`;
    const bench = benchOf(echoModel([1], sample(`batch_size: 1 ${input}`)));
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(text);
  });

  it.each(["none", "../none"])("because there is no file %s fails the load", async (file) => {
    const config = sample(`batch_size: 1 ${input(`dims: 1 input_data_file: "${file}"`)}`);
    const bench = benchOf(echoModel([1], config));
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      `Internal: failed to open text file for read m/warmup/${file}`,
    );
    expect(bench.backend.creationCount).toBe(0);
  });

  it("because the model fails has the text of each request, and what was served before goes on", async () => {
    let isBroken = false;
    const bench = benchOf(echoModel([1], sample(`batch_size: 2 ${ZERO_X}`, "zero sample")), {
      onExecute: () =>
        isBroken
          ? { kind: "fail", error: { code: "INTERNAL", message: "An Error Occurred" } }
          : { kind: "complete" },
    });
    await bench.start();
    await bench.load("m");
    isBroken = true;
    bench.repository.put("m", {
      ...echoModel([1], sample(`batch_size: 2 ${ZERO_X}`, "zero sample")),
      new: "",
    });
    await expect(bench.load("m")).rejects.toThrow(
      "version 1 is at UNAVAILABLE state: Invalid argument: failed to run warmup sample 'zero sample': " +
        "An Error Occurred; An Error Occurred; ;\n",
    );
    isBroken = false;
    expect(echoedValue(await bench.infer("m", 5))).toBe(5);
    expect(bench.liveInstances).toBe(1);
  });

  it("because the instance dies of it fails the load", async () => {
    const bench = benchOf(echoModel([1], sample(`batch_size: 1 ${ZERO_X}`)), {
      onExecute: () => ({ kind: "lose", culprit: true, reason: "out of memory" }),
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "failed to run warmup sample 's': the instance was lost: out of memory; ;\n",
    );
    expect(bench.liveInstances).toBe(0);
  });
});

describe("warm-up of a decoupled model", () => {
  const DECOUPLED = echoModel(
    [1],
    `model_transaction_policy { decoupled: true } ${sample(`batch_size: 1 count: 2 ${ZERO_X}`)}`,
  );
  const error = { code: "INTERNAL", message: "burnt" } as const;

  it("waits for the end of each request", async () => {
    const bench = benchOf(DECOUPLED, {
      onExecute: () => ({
        kind: "decoupled",
        scripts: [
          [
            { kind: "response", value: 1, afterNs: MS },
            { kind: "end", afterNs: MS },
          ],
        ],
      }),
    });
    await bench.start();
    let isLoaded = false;
    const loading = bench.load("m").then(() => (isLoaded = true));
    await bench.until(() => bench.backend.executions.length === 1);
    await bench.clock.advance(1.5 * MS);
    expect(bench.backend.executions).toHaveLength(1);
    await bench.clock.advance(MS);
    expect([isLoaded, bench.backend.executions.length]).toEqual([false, 2]);
    await bench.finish();
    await loading;
    expect(await bench.index()).toEqual(["m:1 READY"]);
  });

  it.each([
    ["an error among the responses", [{ kind: "error", error }, { kind: "end" }]],
    ["an error that is the last response", [{ kind: "error", error, final: true }]],
    ["an end with an error", [{ kind: "end", error }]],
  ] as const)("fails with %s", async (_what, steps) => {
    const bench = benchOf(DECOUPLED, { onExecute: () => ({ kind: "decoupled", scripts: [steps] }) });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow();
    expect(await bench.index()).toEqual([
      "m:1 UNAVAILABLE Invalid argument: failed to run warmup sample 's': burnt; ",
    ]);
    expect(bench.liveInstances).toBe(0);
  });

  it("fails with the loss of the instance", async () => {
    const bench = benchOf(DECOUPLED, { onExecute: () => ({ kind: "decoupled", scripts: [[]] }) });
    await bench.start();
    const loading = bench.load("m");
    loading.catch(() => undefined);
    await bench.until(() => bench.backend.executions.length > 0);
    await bench.clock.settle();
    bench.backend.lose("m_0", { reason: "it burnt" });
    await expect(loading).rejects.toThrow();
    expect(await bench.index()).toEqual([
      "m:1 UNAVAILABLE Invalid argument: failed to run warmup sample 's': the instance was lost: it burnt; ",
    ]);
  });
});
