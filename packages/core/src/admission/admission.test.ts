import { InferenceError } from "@naiad/protocol";
import type { ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench, echoModel } from "@naiad/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const MS = 1e6;
/** Of one echo request: its four bytes, and what it takes besides. */
const BYTES = 4 + 4096;

async function start(
  options: NonNullable<ServerBenchOptions["options"]>,
  config = "",
  backend: ServerBenchOptions["backend"] = { latencyNs: MS },
): Promise<ServerBench> {
  const models = { m: echoModel([1], config), other: echoModel() };
  const bench = createServerBench({ models, options: { loadModels: ["*"], ...options }, backend });
  await bench.start();
  return bench;
}

type Answer = "answered" | InferenceError;

async function ask(
  bench: ServerBench,
  modelName: string,
  options: Parameters<ServerBench["infer"]>[2] = {},
): Promise<Answer> {
  try {
    await bench.infer(modelName, 1, { signal: new AbortController().signal, ...options });
    return "answered";
  } catch (thrown) {
    return InferenceError.from(thrown);
  }
}

const EXCEEDS = {
  code: "UNAVAILABLE",
  message: "[request id: r7] Exceeds maximum queue size",
  retryAfterSecs: undefined,
};

/** Bytes in flight as the metrics tell them. */
async function inflightBytes({ server }: ServerBench): Promise<number> {
  const { text } = await server.serverMetrics({}, { signal: new AbortController().signal });
  return Number(/^naiad_inflight_bytes (\d+)$/m.exec(text)?.[1]);
}

describe("the byte budget of the server", () => {
  it("refuses what exceeds it, of whatever model, and accepts again when something is answered", async () => {
    const bench = await start({ maxInflightBytes: 2 * BYTES });
    const first = [ask(bench, "m"), ask(bench, "other")];
    await bench.clock.settle();
    expect(await inflightBytes(bench)).toBe(2 * BYTES);
    expect(await ask(bench, "m", { id: "r7" })).toMatchObject(EXCEEDS);
    expect(await ask(bench, "other", { id: "r7" })).toMatchObject(EXCEEDS);
    await bench.finish();
    expect(await Promise.all(first)).toEqual(["answered", "answered"]);
    expect(await inflightBytes(bench)).toBe(0);
    const again = ask(bench, "m");
    await bench.finish();
    expect(await again).toBe("answered");
  });

  it("lets a request through that is larger than the budget, by itself", async () => {
    const bench = await start({ maxInflightBytes: BYTES - 1 });
    const alone = ask(bench, "m");
    await bench.clock.settle();
    expect(await ask(bench, "other", { id: "r7" })).toMatchObject(EXCEEDS);
    await bench.finish();
    expect(await alone).toBe("answered");
  });

  it("gives back the bytes of what was cancelled, expired, failed, lost, refused or never enqueued", async () => {
    const bench = await start(
      {},
      "dynamic_batching { default_queue_policy { max_queue_size: 1 default_timeout_microseconds: 100 } }",
      {
        onExecute: ({ requestIds }) => {
          if (requestIds.includes("fails"))
            return { kind: "fail", error: { code: "INTERNAL", message: "no" } };
          if (requestIds.includes("lost")) return { kind: "lose", latencyNs: MS, culprit: true };
          return { kind: "complete", latencyNs: MS };
        },
      },
    );
    const controller = new AbortController();
    const answers: Promise<Answer>[] = [];
    const send = async (id: string, signal?: AbortSignal): Promise<void> => {
      answers.push(ask(bench, "m", { id, ...(signal === undefined ? {} : { signal }) }));
      await bench.clock.settle();
    };
    await send("fails");
    await send("executing", controller.signal);
    await send("expires");
    await send("refused");
    expect(await inflightBytes(bench)).toBe(2 * BYTES);
    controller.abort();
    await send("never enqueued", AbortSignal.abort());
    await bench.finish();
    await send("lost");
    await bench.finish();
    expect(
      (await Promise.all(answers)).map((answer) => (answer === "answered" ? answer : answer.message)),
    ).toEqual([
      "no",
      "[request id: executing] request was cancelled",
      "[request id: expires] Request timeout expired",
      "[request id: refused] Exceeds maximum queue size",
      "[request id: never enqueued] request was cancelled",
      expect.stringContaining("[request id: lost] instance"),
    ]);
    expect(await inflightBytes(bench)).toBe(0);
  });

  it("has nothing in flight when everything is answered, and never more than the budget before", async () => {
    const STEP = fc.record({
      model: fc.constantFrom("m", "other"),
      waitUs: fc.integer({ min: 0, max: 800 }),
      cancels: fc.option(fc.nat(20), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(STEP, { maxLength: 40 }),
        fc.integer({ min: 1, max: 8 * BYTES }),
        async (steps, maximum) => {
          const bench = await start({ maxInflightBytes: maximum });
          const controllers: AbortController[] = [];
          const answers: Promise<Answer>[] = [];
          for (const { model, waitUs, cancels } of steps) {
            const controller = new AbortController();
            controllers.push(controller);
            answers.push(ask(bench, model, { signal: controller.signal }));
            if (cancels !== undefined) controllers[cancels % controllers.length]?.abort();
            await bench.clock.advance(waitUs * 1000);
            expect(await inflightBytes(bench)).toBeLessThanOrEqual(Math.max(maximum, BYTES));
          }
          await bench.finish();
          await Promise.all(answers);
          expect(await inflightBytes(bench)).toBe(0);
        },
      ),
      { seed: 11, numRuns: 40 },
    );
  });
});

describe("request rate limits", () => {
  const LEVELS = "dynamic_batching { priority_levels: 2 default_priority_level: 2 }";
  const parameter = (key: string, value: string): string =>
    `parameters { key: "${key}" value { string_value: "${value}" } }`;

  it("refuse what comes too fast and say when to come again", async () => {
    const bench = await start({}, parameter("request_rate_limit", "2:1"));
    const first = ask(bench, "m");
    await bench.clock.advance(100 * MS);
    expect(await first).toBe("answered");
    expect(await ask(bench, "m", { id: "r7" })).toMatchObject({
      code: "UNAVAILABLE",
      message: "[request id: r7] Exceeds maximum request rate of model 'm'",
      retryAfterSecs: 0.4,
    });
    const unlimited = ask(bench, "other");
    await bench.clock.advance(400 * MS);
    const second = ask(bench, "m");
    await bench.finish();
    expect(await Promise.all([unlimited, second])).toEqual(["answered", "answered"]);
  });

  it("are those of the server for models that do not say otherwise", async () => {
    const bench = await start(
      { requestRateLimit: { kind: "rate", requestsPerSecond: 1, burst: 1 } },
      parameter("request_rate_limit", "off"),
    );
    const answers = ["m", "m", "m", "other", "other"].map((modelName) => ask(bench, modelName));
    await bench.finish();
    expect(
      (await Promise.all(answers)).map((answer) => (answer === "answered" ? answer : answer.message)),
    ).toEqual([
      "answered",
      "answered",
      "answered",
      "answered",
      "[request id: <id_unknown>] Exceeds maximum request rate of model 'other'",
    ]);
  });

  it("hold for a priority level by itself, and a request that one of them refuses takes nothing from the other", async () => {
    const config = [
      LEVELS,
      parameter("request_rate_limit", "0.5:3"),
      parameter("request_rate_limit_priority_2", "0.1:1"),
    ].join(" ");
    const bench = await start({}, config);
    const answers = [0, 2, 7, 1, 1, 1].map((priority) => ask(bench, "m", { priority }));
    await bench.finish();
    expect(
      (await Promise.all(answers)).map((answer) =>
        answer === "answered" ? answer : `${answer.message}, ${String(answer.retryAfterSecs)}`,
      ),
    ).toEqual([
      "answered",
      "[request id: <id_unknown>] Exceeds maximum request rate of model 'm' at priority level 2, 10",
      "[request id: <id_unknown>] Exceeds maximum request rate of model 'm' at priority level 2, 10",
      "answered",
      "answered",
      "[request id: <id_unknown>] Exceeds maximum request rate of model 'm', 2",
    ]);
  });

  it("go on where they were when the model is loaded anew", async () => {
    const bench = await start({}, parameter("request_rate_limit", "1:1"));
    const first = ask(bench, "m");
    await bench.finish();
    expect(await first).toBe("answered");
    bench.repository.put("m", echoModel([1], `${parameter("request_rate_limit", "2:1")} ${LEVELS}`));
    await bench.load("m");
    expect(await ask(bench, "m")).toMatchObject({ code: "UNAVAILABLE" });
  });

  it("that make no sense fail the load before anything is downloaded", async () => {
    const bench = createServerBench({
      models: { m: echoModel([1], parameter("request_rate_limit", "fast")) },
    });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      "Invalid argument: parameter 'request_rate_limit' of model 'm': request rate limit 'fast' is neither 'off' nor",
    );
    expect(bench.repository.reads).toEqual(["m/config.pbtxt"]);
  });

  it("do not count what the byte budget refuses", async () => {
    const bench = await start({ maxInflightBytes: BYTES }, parameter("request_rate_limit", "1:1"));
    const other = ask(bench, "other");
    await bench.clock.settle();
    expect(await ask(bench, "m", { id: "r7" })).toMatchObject(EXCEEDS);
    await bench.finish();
    await other;
    const accepted = ask(bench, "m");
    await bench.finish();
    expect(await accepted).toBe("answered");
  });
});
