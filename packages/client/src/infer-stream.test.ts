import { EchoServer } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { overFetch, WAYS } from "../test/ways.ts";
import type { InferCall } from "./infer-request.ts";
import { createInferenceClient } from "./inference-client.ts";

/** Leaves the loop after the first item. */
async function firstOf<Item>(items: AsyncIterable<Item>): Promise<Item | undefined> {
  for await (const item of items) return item;
  return undefined;
}

async function eachOf<Item>(items: AsyncIterable<Item>, take: (item: Item) => void): Promise<void> {
  for await (const item of items) take(item);
}

describe.each(WAYS.filter(({ name }) => name !== "fetch"))("inferStream over $name", ({ open }) => {
  const CALL: InferCall = { modelName: "echo", inputs: { X: { data: Float32Array.of(1, 2, 3, 4) } } };

  it("gives every response, in order", async () => {
    const way = open(new EchoServer());
    const results: unknown[] = [];
    for await (const result of createInferenceClient(way.transport).inferStream({ ...CALL, id: "7" })) {
      expect(result).toMatchObject({ modelName: "echo", modelVersion: "1", id: "7" });
      results.push([result.parameters, result.output("X", "FP32").data]);
    }
    const data = Float32Array.of(1, 2, 3, 4);
    expect(results).toEqual([0n, 1n, 2n].map((index) => [{ index }, data]));
    way.close();
  });

  it("keeps the caller's arrays, unless they are given away", async () => {
    const way = open(new EchoServer());
    const data = Float32Array.of(1);
    const inputs = { X: { data } };
    const client = createInferenceClient(way.transport);
    await firstOf(client.inferStream({ modelName: "echo", inputs }));
    expect(data.byteLength).toBe(4);
    await firstOf(client.inferStream({ modelName: "echo", inputs, transfer: true }));
    expect(data.byteLength).toBe(0);
    way.close();
  });

  it("throws what the server refuses, and the error of a response", async () => {
    const server = new EchoServer();
    const way = open(server);
    const client = createInferenceClient(way.transport);
    const first = (call: InferCall): Promise<unknown> =>
      client.inferStream(call)[Symbol.asyncIterator]().next();
    await expect(first({ ...CALL, modelName: "nobody" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(first({ ...CALL, inputs: { X: { data: [1], shape: [2] } } })).rejects.toMatchObject({
      code: "INVALID_ARG",
    });
    server.modelStreamInfer = async (input, context) => {
      const response = await server.modelInfer(input, context);
      const error = { code: "INTERNAL", message: "burnt" } as const;
      return (async function* () {
        await Promise.resolve();
        yield response;
        yield { ...response, outputs: [], error };
      })();
    };
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const { id } of client.inferStream({ ...CALL, id: "7" })) seen.push(id);
    })();
    await expect(reading).rejects.toMatchObject({ code: "INTERNAL", message: "burnt" });
    expect(seen).toEqual(["7"]);
    way.close();
  });

  it.each(["leaving the loop", "an abort"])("tells the server of %s", async (how) => {
    const server = new EchoServer();
    let left = (): void => undefined;
    const wasLeft = new Promise<void>((resolve) => {
      left = resolve;
    });
    server.modelStreamInfer = async (input, context) => {
      const response = await server.modelInfer(input, context);
      return (async function* () {
        yield response;
        await new Promise<void>((resolve) => {
          context.signal.addEventListener("abort", () => {
            left();
            resolve();
          });
        });
      })();
    };
    const way = open(server);
    const aborting = new AbortController();
    const client = createInferenceClient(way.transport);
    const reading = (async () => {
      const results = client.inferStream(CALL, { signal: aborting.signal });
      if (how === "leaving the loop") await firstOf(results);
      else {
        await eachOf(results, () => {
          aborting.abort();
        });
      }
    })();
    if (how === "an abort") await expect(reading).rejects.toMatchObject({ code: "CANCELLED" });
    else await reading;
    await wasLeft;
    way.close();
  });

  it("ends with the loss of the host", async () => {
    const way = open(new EchoServer());
    const client = createInferenceClient(way.transport);
    const reading = eachOf(client.inferStream(CALL), () => {
      way.lose();
    });
    await expect(reading).rejects.toMatchObject({ code: "UNAVAILABLE" });
    way.close();
  });
});

describe("inferStream over fetch", () => {
  it("says what there is instead", async () => {
    const { transport } = overFetch(new EchoServer());
    const stream = createInferenceClient(transport).inferStream({ modelName: "echo", inputs: {} });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message:
        "Triton's HTTP API has no streaming inference: use the client of a server on this page, or " +
        "fetch 'v2/models/<model>/generate_stream'",
    });
  });
});
