import { answerTexts } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { END, MODEL, MS, RESPONSE, SCHEDULERS, start, values } from "../../test/decoupled-model.ts";

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

  it("counts a cancelled request once as cleaned up when its instance is lost", async () => {
    const { clock, send, statistics, backend } = await start(config, {
      kind: "decoupled",
      scripts: [[RESPONSE(1), RESPONSE(2, 10 * MS), RESPONSE(3, 100 * MS), END]],
    });
    const request = send();
    await clock.advance(11 * MS);
    request.abort();
    backend.lose("m_0", { reason: "it burnt" });
    await clock.drain();
    expect(answerTexts([request])).toEqual(["CANCELLED [request id: 1] request was cancelled"]);
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
