import type { FakeAnswer, FakeStep, SchedulerFixture, SentRequest } from "@naiad/testing";
import { answerTexts, createSchedulerFixture } from "@naiad/testing";
import { describe, expect, it } from "vitest";

const MODEL = `
  name: "m" backend: "fake" max_batch_size: 4
  input { name: "x" data_type: TYPE_FP32 dims: [1] }
  output { name: "y" data_type: TYPE_FP32 dims: [1] }
  model_transaction_policy { decoupled: true }`;
const SCHEDULERS = {
  default: MODEL,
  dynamic: `${MODEL} dynamic_batching {}`,
  direct: `${MODEL} sequence_batching { direct {} }`,
  oldest: `${MODEL} sequence_batching { oldest { max_candidate_sequences: 4 } }`,
};
const MS = 1e6;

const RESPONSE = (value: number, afterNs = 0): FakeStep => ({ kind: "response", value, afterNs });
const END: FakeStep = { kind: "end" };

async function start(config: string, answer: FakeAnswer | (() => FakeAnswer), instances = 1) {
  const fixture = await createSchedulerFixture({
    config,
    instances,
    onExecute: typeof answer === "function" ? answer : () => answer,
  });
  let sequences = 0n;
  const send = (options: Parameters<SchedulerFixture["send"]>[0] = {}): SentRequest => {
    sequences += 1n;
    const isSequence = config.includes("sequence_batching");
    return fixture.send({
      ...(isSequence && { sequence: { id: sequences, start: true, end: true } }),
      ...options,
    });
  };
  return { ...fixture, send };
}

/** The numbers of the responses and the codes of their errors. */
function values({ responses }: SentRequest): readonly (number | string | undefined)[] {
  return responses.map((response) => {
    if (response.kind === "error") return response.error.code;
    const [output] = response.outputs;
    return output?.kind === "bytes" ? new Float32Array(output.bytes.slice().buffer)[0] : undefined;
  });
}

describe.each(Object.entries(SCHEDULERS))("a decoupled model behind the %s scheduler", (_name, config) => {
  it("answers any number of times, in order, and then ends", async () => {
    const { clock, send } = await start(config, {
      kind: "decoupled",
      scripts: [[RESPONSE(1), RESPONSE(2), RESPONSE(3), END]],
    });
    const request = send();
    await clock.drain();
    expect(values(request)).toEqual([1, 2, 3]);
    expect(answerTexts([request])).toEqual(["end"]);
    expect(request.outcomes).toHaveLength(1);
  });

  it("may answer not at all", async () => {
    const { clock, send } = await start(config, { kind: "decoupled", scripts: [[END]] });
    const request = send();
    await clock.drain();
    expect([values(request), answerTexts([request])]).toEqual([[], ["end"]]);
  });

  it("gives its responses as they come, and its instance is free for the next request meanwhile", async () => {
    const { clock, send, backend } = await start(config, {
      kind: "decoupled",
      latencyNs: MS,
      scripts: [[RESPONSE(1), RESPONSE(2, 5 * MS), { ...END, afterNs: 5 * MS }]],
    });
    const first = send();
    await clock.advance(2 * MS);
    expect([values(first), answerTexts([first])]).toEqual([[1], ["none"]]);
    const second = send();
    await clock.advance(2 * MS);
    expect(backend.executions).toHaveLength(2);
    expect(values(second)).toEqual([1]);
    await clock.drain();
    expect(answerTexts([first, second])).toEqual(["end", "end"]);
    expect([values(first), values(second)]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it("is told a response's end at once, also while the execution still runs", async () => {
    const { clock, send } = await start(config, {
      kind: "decoupled",
      latencyNs: 50 * MS,
      scripts: [[RESPONSE(1, MS), END]],
    });
    const request = send();
    await clock.advance(2 * MS);
    expect(answerTexts([request])).toEqual(["end"]);
  });

  it("may give an error in the middle and go on", async () => {
    const error = { code: "INVALID_ARG", message: "no" } as const;
    const { clock, send, statistics } = await start(config, {
      kind: "decoupled",
      scripts: [[RESPONSE(1), { kind: "error", error }, RESPONSE(3), END]],
    });
    const request = send();
    await clock.drain();
    expect(values(request)).toEqual([1, "INVALID_ARG", 3]);
    expect(answerTexts([request])).toEqual(["end"]);
    expect(statistics.details().failures.BACKEND).toBe(0);
  });

  it("fails the request where the model fails it", async () => {
    const error = { code: "INTERNAL", message: "burnt" } as const;
    const { clock, send, statistics } = await start(config, {
      kind: "decoupled",
      scripts: [[RESPONSE(1), { kind: "end", error }]],
    });
    const request = send();
    await clock.drain();
    expect([values(request), answerTexts([request])]).toEqual([[1], ["INTERNAL burnt"]]);
    expect(statistics.details().failures.BACKEND).toBe(1);
  });

  it("waits for a slow reader", async () => {
    const { clock, send } = await start(config, {
      kind: "decoupled",
      scripts: [[RESPONSE(1), RESPONSE(2), RESPONSE(3), END]],
    });
    let goOn = (): void => undefined;
    const request = send({
      onResponse: () =>
        new Promise((resolve) => {
          goOn = resolve;
        }),
    });
    await clock.drain();
    expect(values(request)).toEqual([1]);
    goOn();
    await clock.drain();
    expect(values(request)).toEqual([1, 2]);
    goOn();
    await clock.drain();
    goOn();
    await clock.drain();
    expect([values(request), answerTexts([request])]).toEqual([[1, 2, 3], ["end"]]);
  });

  it("hears of a cancel, and whatever it still says goes nowhere", async () => {
    const { clock, send, statistics } = await start(config, {
      kind: "decoupled",
      scripts: [[RESPONSE(1), RESPONSE(2, 10 * MS), RESPONSE(3, 10 * MS), END]],
    });
    const request = send();
    await clock.advance(11 * MS);
    request.abort();
    expect(answerTexts([request])).toEqual(["CANCELLED [request id: 1] request was cancelled"]);
    await clock.drain();
    expect(values(request)).toEqual([1, 2]);
    expect(clock.nowNs()).toBe(11 * MS);
    expect(statistics.details().failures.CANCELED).toBe(1);
    expect(statistics.snapshot({ name: "m", version: "1" }).response_stats["2"]?.cancel.count).toBe(1);
  });

  it("ends every open request with an error when its instance is lost", async () => {
    const { clock, send, backend } = await start(config, {
      kind: "decoupled",
      latencyNs: MS,
      scripts: [[RESPONSE(1), RESPONSE(2, 100 * MS), END]],
    });
    const request = send();
    await clock.advance(2 * MS);
    backend.lose("m_0", { reason: "it burnt" });
    await clock.drain();
    expect(answerTexts([request])).toEqual([
      "UNAVAILABLE [request id: 1] instance 'm_0' of model 'm' was lost before the request had ended: it burnt",
    ]);
    expect(values(request)).toEqual([1]);
  });

  it("is not executed again where responses are out already when its instance is lost", async () => {
    const { clock, send, backend } = await start(config, {
      kind: "decoupled",
      latencyNs: 50 * MS,
      scripts: [[RESPONSE(1), RESPONSE(2, 100 * MS), END]],
    });
    const request = send();
    await clock.advance(MS);
    backend.lose("m_0", { reason: "it burnt" });
    await clock.drain();
    expect(answerTexts([request])).toEqual([
      "UNAVAILABLE [request id: 1] instance 'm_0' of model 'm' was lost before the request had ended: it burnt",
    ]);
    expect(backend.executions).toHaveLength(1);
  });

  it("is executed again where nothing was out when its instance is lost", async () => {
    let executions = 0;
    const { clock, send } = await start(config, () => {
      executions += 1;
      if (executions === 1) return { kind: "lose", latencyNs: MS, culprit: true };
      return { kind: "decoupled", scripts: [[RESPONSE(7), END]] };
    });
    const request = send();
    await clock.drain();
    expect([values(request), answerTexts([request])]).toEqual([[7], ["end"]]);
  });

  it("is waited for by a stop, and by the end of its instance", async () => {
    const { clock, send, scheduler, group, backend } = await start(config, {
      kind: "decoupled",
      scripts: [[RESPONSE(1), RESPONSE(2, 50 * MS), END]],
    });
    const request = send();
    await clock.advance(MS);
    let isOver = false;
    void scheduler
      .stop()
      .then(() => group.dispose())
      .then(() => (isOver = true));
    await clock.advance(MS);
    expect([isOver, backend.liveCount]).toEqual([false, 1]);
    await clock.drain();
    expect([isOver, backend.liveCount]).toEqual([true, 0]);
    expect([values(request), answerTexts([request])]).toEqual([[1, 2], ["end"]]);
  });

  it("keeps an instance that is taken out of the group until its requests have ended", async () => {
    const { clock, send, group, backend } = await start(config, {
      kind: "decoupled",
      scripts: [[RESPONSE(1), RESPONSE(2, 50 * MS), END]],
    });
    const request = send();
    await clock.advance(MS);
    const prepared = await group.prepare({
      placements: [{ instanceName: "m_9", device: { kind: "cpu", threads: 1 }, workerKey: "m_9" }],
      create: backend.create,
      signal: new AbortController().signal,
    });
    prepared.commit();
    await clock.advance(MS);
    expect(backend.liveCount).toBe(2);
    await clock.drain();
    expect(backend.liveCount).toBe(1);
    expect([values(request), answerTexts([request])]).toEqual([[1, 2], ["end"]]);
  });

  it("may also give its one answer as other models do", async () => {
    const { clock, send } = await start(config, { kind: "complete" });
    const request = send();
    await clock.drain();
    expect([values(request), answerTexts([request])]).toEqual([[], ["response"]]);
  });
});

describe("statistics of a decoupled model", () => {
  it("count a request when it ends, and each response under its index", async () => {
    const { clock, send, statistics } = await start(SCHEDULERS.dynamic, {
      kind: "decoupled",
      latencyNs: 2 * MS,
      scripts: [[RESPONSE(1, 3 * MS), RESPONSE(2, 4 * MS), { ...END, afterNs: 5 * MS }]],
    });
    const snapshot = () => statistics.snapshot({ name: "m", version: "1" });
    send();
    await clock.advance(8 * MS);
    expect(snapshot()).toMatchObject({
      execution_count: 1,
      inference_count: 0,
      inference_stats: { success: { count: 0 } },
    });
    await clock.drain();
    send();
    await clock.drain();
    const none = { count: 0, ns: 0 };
    const answered = (ns: number) => ({
      compute_infer: { count: 2, ns },
      compute_output: { count: 2, ns: 0 },
      success: { count: 2, ns },
      fail: none,
      empty_response: none,
      cancel: none,
    });
    expect(snapshot().response_stats).toEqual({
      "0": answered(6 * MS),
      "1": answered(8 * MS),
      "2": {
        ...answered(10 * MS),
        compute_output: none,
        success: none,
        empty_response: { count: 2, ns: 10 * MS },
      },
    });
    expect(snapshot()).toMatchObject({
      execution_count: 2,
      inference_count: 2,
      inference_stats: {
        success: { count: 2, ns: 24 * MS },
        compute_infer: { count: 2, ns: 4 * MS },
      },
    });
  });

  it("have no entry for an end that came with a response", async () => {
    const { clock, send, statistics } = await start(SCHEDULERS.default, {
      kind: "decoupled",
      scripts: [[RESPONSE(1), { kind: "response", value: 2, final: true }]],
    });
    const request = send();
    await clock.drain();
    expect([values(request), answerTexts([request])]).toEqual([[1, 2], ["end"]]);
    expect(Object.keys(statistics.snapshot({ name: "m", version: "1" }).response_stats)).toEqual(["0", "1"]);
  });

  it("do not charge a response with the time that its reader takes", async () => {
    const { clock, send, statistics } = await start(SCHEDULERS.default, {
      kind: "decoupled",
      scripts: [[RESPONSE(1, MS), RESPONSE(2, MS), END]],
    });
    send({
      onResponse: () =>
        new Promise((resolve) => {
          clock.after(70 * MS, resolve);
        }),
    });
    await clock.drain();
    expect(statistics.snapshot({ name: "m", version: "1" }).response_stats).toMatchObject({
      "0": { success: { count: 1, ns: MS } },
      "1": { success: { count: 1, ns: MS } },
      "2": { empty_response: { count: 1, ns: 0 } },
    });
  });

  it("count an error among the responses as a failed one", async () => {
    const { clock, send, statistics } = await start(SCHEDULERS.default, {
      kind: "decoupled",
      scripts: [[{ kind: "error", error: { code: "INTERNAL", message: "no" }, final: true }]],
    });
    send();
    await clock.drain();
    const { response_stats: stats, inference_stats: all } = statistics.snapshot({ name: "m", version: "1" });
    expect(stats["0"]).toMatchObject({ fail: { count: 1 }, success: { count: 0 } });
    expect([all.success.count, all.fail.count]).toEqual([1, 0]);
  });
});

describe("preserve_ordering of a decoupled model", () => {
  it("gives a request nothing before the requests before it have ended", async () => {
    const scripts = [
      [RESPONSE(1, 10 * MS), RESPONSE(2, 10 * MS), END],
      [RESPONSE(3), RESPONSE(4), END],
    ];
    const { clock, send } = await start(`${MODEL} dynamic_batching { preserve_ordering: true }`, () => ({
      kind: "decoupled",
      scripts: [scripts.shift() ?? []],
    }));
    const [first, second] = [send(), send()];
    await clock.advance(15 * MS);
    expect([values(first), values(second)]).toEqual([[1], []]);
    await clock.drain();
    expect([values(first), values(second)]).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(answerTexts([first, second])).toEqual(["end", "end"]);
  });

  it("holds between the sequences of one instance with `oldest`", async () => {
    const scripts = [
      [RESPONSE(1, 10 * MS), END],
      [RESPONSE(3), END],
    ];
    const { clock, send } = await start(
      `${MODEL} sequence_batching { oldest { max_candidate_sequences: 4 preserve_ordering: true } }`,
      () => ({ kind: "decoupled", scripts: [scripts.shift() ?? []] }),
    );
    const [first, second] = [send(), send()];
    await clock.advance(9 * MS);
    expect([values(first), values(second)]).toEqual([[], []]);
    await clock.advance(MS);
    expect([values(first), values(second)]).toEqual([[1], [3]]);
    expect(answerTexts([first, second])).toEqual(["end", "end"]);
  });

  it("goes on when a request before is cancelled", async () => {
    const scripts = [
      [RESPONSE(1, 100 * MS), END],
      [RESPONSE(3), END],
    ];
    const { clock, send } = await start(`${MODEL} dynamic_batching { preserve_ordering: true }`, () => ({
      kind: "decoupled",
      scripts: [scripts.shift() ?? []],
    }));
    const [first, second] = [send(), send()];
    await clock.advance(MS);
    first.abort();
    await clock.advance(MS);
    expect([values(second), answerTexts([second])]).toEqual([[3], ["end"]]);
  });
});

describe("an iterative sequence of a decoupled model", () => {
  it("streams through the same request at each of its executions", async () => {
    let step = 0;
    const { clock, send, backend } = await start(
      `${MODEL} sequence_batching { iterative_sequence: true }`,
      () => {
        step += 1;
        const isLast = step === 3;
        return {
          kind: "decoupled",
          latencyNs: MS,
          scripts: [isLast ? [RESPONSE(step), END] : [RESPONSE(step)]],
          outcomes: [isLast ? { kind: "decoupled" } : { kind: "reschedule", outputs: [] }],
        };
      },
    );
    const request = send({});
    await clock.drain();
    expect([values(request), answerTexts([request])]).toEqual([[1, 2, 3], ["end"]]);
    expect(backend.executions).toHaveLength(3);
  });
});

describe("an iterative request that has had its end", () => {
  it("is not executed again, although the model asks for it", async () => {
    const { clock, send, backend } = await start(
      `${MODEL} sequence_batching { iterative_sequence: true }`,
      () => ({
        kind: "decoupled",
        latencyNs: MS,
        scripts: [[RESPONSE(1), END]],
        outcomes: [{ kind: "reschedule", outputs: [] }],
      }),
    );
    const request = send({});
    await clock.drain();
    expect([values(request), answerTexts([request])]).toEqual([[1], ["end"]]);
    expect(backend.executions).toHaveLength(1);
  });
});

describe("a model that is not decoupled", () => {
  it("fails the request that it answers as if it were", async () => {
    const { clock, send } = await start(MODEL.replace("decoupled: true", "decoupled: false"), {
      kind: "decoupled",
      scripts: [[RESPONSE(1), RESPONSE(2), END]],
    });
    const request = send();
    await clock.drain();
    expect(answerTexts([request])).toEqual([
      "INTERNAL the model gave several responses although 'model_transaction_policy' does not say that it is decoupled",
    ]);
  });
});
