import { answerTexts } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { END, MS, RESPONSE, SCHEDULERS, start, values } from "../../test/decoupled-model.ts";

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
