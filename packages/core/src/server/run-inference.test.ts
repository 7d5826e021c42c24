import { decodeStringElements } from "@naiad/protocol";
import { createServerBench, echoedValue, echoModel, echoRequest } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const { signal } = new AbortController();
const context = { signal };
const MS = 1_000_000;

function error(code: string, message: string): object {
  return { code, message };
}

describe("inference", () => {
  it("answers with the model's output", async () => {
    const bench = createServerBench({ models: { m: echoModel([3]) } });
    await bench.start();
    await bench.load("m");
    const response = await bench.infer("m", 42, { id: "r1" });
    expect(response).toMatchObject({ modelName: "m", modelVersion: "3", id: "r1", parameters: {} });
    expect(response.outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape }))).toEqual([
      { name: "y", datatype: "INT32", shape: [1, 1] },
    ]);
    expect(echoedValue(response)).toBe(42);
  });

  it("takes the greatest version when none is named", async () => {
    const bench = createServerBench({ models: { m: echoModel([9, 10], "version_policy { all {} }") } });
    await bench.start();
    await bench.load("m");
    expect(await bench.infer("m", 1)).toMatchObject({ modelVersion: "10" });
    expect(await bench.infer("m", 1, { version: "9" })).toMatchObject({ modelVersion: "9" });
  });

  it("refuses what does not fit the model", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    const request = { ...echoRequest("m", 1), outputs: [{ name: "nope" }] };
    await expect(bench.server.modelInfer(request, context)).rejects.toMatchObject(
      error("INVALID_ARG", "unexpected inference output 'nope' for model 'm'"),
    );
  });

  it("shows an output in the shape of its dims where the model has another", async () => {
    const config = `
      backend: "fake"
      max_batch_size: 4
      input { name: "x" data_type: TYPE_INT32 dims: [2, 2] reshape { shape: [4] } }
      output { name: "y" data_type: TYPE_INT32 dims: [4, 1] reshape { shape: [4] } }
    `;
    const bench = createServerBench({
      models: { m: { "config.pbtxt": config, "1/model.fake": "version 1" } },
    });
    await bench.start();
    await bench.load("m");
    const bytes = new Uint8Array(Int32Array.from([1, 2, 3, 4]).buffer);
    const response = await bench.server.modelInfer(
      {
        ...echoRequest("m", 1),
        inputs: [{ kind: "bytes", name: "x", datatype: "INT32", shape: [1, 2, 2], bytes }],
      },
      context,
    );
    expect(response.outputs).toMatchObject([{ name: "y", shape: [1, 4, 1], bytes }]);
  });

  it("refuses a decoupled model, which may give any number of answers", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], "model_transaction_policy { decoupled: true }") },
    });
    await bench.start();
    await bench.load("m");
    await expect(bench.infer("m", 1)).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: "HTTP end point doesn't support models with decoupled transaction policy",
    });
  });

  it("answers with the best classes and their labels where a request asks for them", async () => {
    const config = `
      backend: "fake" max_batch_size: 4
      input { name: "x" data_type: TYPE_INT32 dims: [3] }
      output { name: "y" data_type: TYPE_INT32 dims: [3] label_filename: "labels.txt" }
    `;
    const bench = createServerBench({
      models: { m: { "config.pbtxt": config, "1/m": "", "labels.txt": "cat\r\ndog\n" } },
    });
    await bench.start();
    await bench.load("m");
    const bytes = new Uint8Array(Int32Array.of(5, 7, 6).buffer);
    const request = {
      ...echoRequest("m", 0),
      inputs: [{ kind: "bytes", name: "x", datatype: "INT32", shape: [1, 3], bytes }],
      outputs: [{ name: "y", classCount: 2 }],
    } as const;
    const { outputs } = await bench.server.modelInfer(request, context);
    expect(outputs).toMatchObject([{ name: "y", datatype: "BYTES", shape: [1, 2] }]);
    const [output] = outputs;
    expect(output?.kind === "bytes" && decodeStringElements(output.bytes, "y")).toEqual(["7:1:dog", "6:2"]);
  });

  it("does not load a model whose label file is not there", async () => {
    const config = `
      backend: "fake"
      input { name: "x" data_type: TYPE_INT32 dims: [3] }
      output { name: "y" data_type: TYPE_INT32 dims: [3] label_filename: "labels.txt" }
    `;
    const bench = createServerBench({ models: { m: { "config.pbtxt": config, "1/m": "" } } });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "Internal: failed to open text file for read m/labels.txt: No such file or directory",
    );
    expect(bench.backend.creationCount).toBe(0);
  });

  it("passes a backend's error on", async () => {
    const bench = createServerBench({
      models: { m: echoModel() },
      backend: { onExecute: () => ({ kind: "fail", error: { code: "INTERNAL", message: "kaputt" } }) },
    });
    await bench.start();
    await bench.load("m");
    await expect(bench.infer("m", 1)).rejects.toMatchObject(error("INTERNAL", "kaputt"));
  });

  it("answers an aborted request at once, while its batch still runs", async () => {
    const bench = createServerBench({ models: { m: echoModel() }, backend: { latencyNs: 10 * MS } });
    await bench.start();
    await bench.load("m");
    const client = new AbortController();
    const answer = bench.infer("m", 1, { signal: client.signal });
    await bench.until(() => bench.backend.runningCount === 1);
    client.abort();
    await expect(answer).rejects.toMatchObject({ code: "CANCELLED" });
    expect(bench.backend.runningCount).toBe(1);
    await bench.clock.drain();
  });

  it("does not begin an aborted request", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    const client = new AbortController();
    client.abort();
    await expect(bench.infer("m", 1, { signal: client.signal })).rejects.toMatchObject({ code: "CANCELLED" });
    expect(bench.backend.executions).toEqual([]);
  });
});
