import type { ExchangeResponse, JsonObject } from "@naiad/protocol";
import { encodeJson } from "@naiad/protocol";
import type { ServerBench } from "@naiad/testing";
import { createServerBench } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { Answer } from "../test/http-bench.ts";
import { readAnswer } from "../test/http-bench.ts";
import { identityModel } from "../test/models.ts";
import { createHttpHandler } from "./http-handler.ts";

/**
 * What Triton's own suites for queue policies, priorities and cancellation look after, as a client of HTTP sees it. An
 * execution takes 10 ms.
 */
const MS = 1_000_000;

/** A request that was sent, and its answer as soon as there is one. */
interface Sent {
  readonly id: string;
  answer: Answer | undefined;
  answeredNs: number;
  readonly hangUp: () => void;
}

interface Queueing {
  readonly bench: ServerBench;
  readonly send: (id: string, parameters?: JsonObject) => Sent;
  readonly executedIds: () => readonly string[];
  readonly failures: () => Promise<Readonly<Record<string, number>>>;
}

async function serve(batching: string, { maxBatchSize = 8 } = {}): Promise<Queueing> {
  const model = identityModel("INT32", "[1]", { maxBatchSize, config: `dynamic_batching { ${batching} }` });
  const bench = createServerBench({ models: { m: model }, backend: { latencyNs: 10 * MS } });
  const handle = createHttpHandler({ handlers: bench.server, maxInputSize: 64 * 1024 });
  await bench.start();
  await bench.load("m");
  return {
    bench,
    send: (id, parameters = {}) => {
      const controller = new AbortController();
      const sent: Sent = {
        id,
        answer: undefined,
        answeredNs: -1,
        hangUp: () => {
          controller.abort();
        },
      };
      const body = {
        id,
        parameters,
        inputs: [{ name: "INPUT0", datatype: "INT32", shape: [1, 1], data: [Number(id)] }],
      };
      const answered = async (response: ExchangeResponse): Promise<void> => {
        sent.answeredNs = bench.clock.nowNs();
        sent.answer = await readAnswer(response);
      };
      void handle({
        method: "POST",
        rawTarget: "/v2/models/m/infer",
        headers: [],
        body: encodeJson(body),
        signal: controller.signal,
      }).then(answered);
      return sent;
    },
    executedIds: () => bench.backend.executions.map(({ requestIds }) => requestIds.join()),
    failures: async () => {
      const { model_stats } = await bench.server.modelStatistics(
        { modelName: "m", modelVersion: "" },
        { signal: new AbortController().signal },
      );
      const { success, fail } = model_stats[0]?.inference_stats ?? {};
      return { success: success?.count ?? -1, fail: fail?.count ?? -1 };
    },
  };
}

function told({ answer }: Sent): string {
  return answer === undefined ? "nothing" : `${String(answer.status)} ${answer.error}`.trim();
}

describe("queue policies over HTTP", () => {
  it("answers 503 at once beyond the queue size, and counts no failure", async () => {
    const { bench, send, failures } = await serve("default_queue_policy { max_queue_size: 2 }");
    const sent = ["1", "2", "3", "4"].map((id) => send(id));
    await bench.clock.settle();
    expect(sent.map(told)).toEqual([
      "nothing",
      "nothing",
      "nothing",
      "503 [request id: 4] Exceeds maximum queue size",
    ]);
    await bench.clock.drain();
    expect(sent.slice(0, 3).map(told)).toEqual(["200", "200", "200"]);
    expect(await failures()).toEqual({ success: 3, fail: 0 });
  });

  it("answers 503 at the deadline of the model, or at the request's own where that is sooner", async () => {
    const { bench, send, executedIds, failures } = await serve(
      "default_queue_policy { default_timeout_microseconds: 4000 allow_timeout_override: true }",
    );
    const sent = [send("1"), send("2"), send("3", { timeout: 1000 }), send("4", { timeout: 9000 })];
    await bench.clock.drain();
    expect(sent.map((request) => `${told(request)} @${String(request.answeredNs / MS)}`)).toEqual([
      "200 @10",
      "503 [request id: 2] Request timeout expired @4",
      "503 [request id: 3] Request timeout expired @1",
      "503 [request id: 4] Request timeout expired @4",
    ]);
    expect(executedIds()).toEqual(["1"]);
    expect(await failures()).toEqual({ success: 1, fail: 3 });
  });

  it("serves late what may only be delayed", async () => {
    const { bench, send, executedIds } = await serve(
      "default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 1000 }",
      { maxBatchSize: 1 },
    );
    const sent = [send("1"), send("2")];
    await bench.clock.advance(9.5 * MS);
    sent.push(send("3"));
    await bench.clock.drain();
    expect(sent.map(told)).toEqual(["200", "200", "200"]);
    expect(executedIds()).toEqual(["1", "3", "2"]);
  });

  it("serves priorities in their order", async () => {
    const { bench, send, executedIds } = await serve("priority_levels: 3 default_priority_level: 2", {
      maxBatchSize: 1,
    });
    send("1");
    await bench.clock.settle();
    for (const [id, priority] of [
      ["2", 3],
      ["3", 0],
      ["4", 1],
      ["5", 2],
    ] as const) {
      send(id, { priority });
    }
    await bench.clock.drain();
    expect(executedIds()).toEqual(["1", "4", "3", "5", "2"]);
  });
});

describe("a client of HTTP that hangs up", () => {
  it("takes its request out of the queue, and the others go on", async () => {
    const { bench, send, executedIds, failures } = await serve("");
    const sent = ["1", "2", "3"].map((id) => send(id));
    await bench.clock.advance(2 * MS);
    sent[1]?.hangUp();
    await bench.clock.settle();
    expect(sent[1]?.answeredNs).toBe(2 * MS);
    await bench.clock.drain();
    expect(executedIds()).toEqual(["1", "3"]);
    expect([sent[0], sent[2]].map((request) => request?.answer?.status)).toEqual([200, 200]);
    expect(await failures()).toEqual({ success: 2, fail: 1 });
  });

  it("makes room in a full queue", async () => {
    const { bench, send } = await serve("default_queue_policy { max_queue_size: 1 }");
    send("1");
    const waiting = send("2");
    await bench.clock.settle();
    waiting.hangUp();
    await bench.clock.settle();
    const request = send("3");
    await bench.clock.drain();
    expect(told(request)).toBe("200");
  });

  it("does not stop an execution that has begun, whose other requests get their answers", async () => {
    const { bench, send, executedIds, failures } = await serve("max_queue_delay_microseconds: 1000");
    const [leaving, staying] = [send("1"), send("2")];
    await bench.clock.advance(5 * MS);
    leaving.hangUp();
    await bench.clock.drain();
    expect(executedIds()).toEqual(["1,2"]);
    expect(told(staying)).toBe("200");
    expect(leaving.answeredNs).toBe(5 * MS);
    expect(await failures()).toEqual({ success: 1, fail: 1 });
  });
});
