import type { ServerBench } from "@naiad/testing";
import { echoModel, echoRequest } from "@naiad/testing";
import parsePrometheusTextFormat from "parse-prometheus-text-format";
import { describe, expect, it } from "vitest";
import { MS, ON_DEVICE, served, signal } from "../../test/metrics-bench.ts";

/** Of one INT32. */
const ROW_BYTES = 4;

/** The value of this name and these labels, where there is one. */
async function told(
  { server }: ServerBench,
  name: string,
  labels: Readonly<Record<string, string>> = { model: "m", version: "1" },
): Promise<number | undefined> {
  const { text } = await server.serverMetrics({}, { signal });
  const family = parsePrometheusTextFormat(text).find((one) => one.name === name);
  const metric = family?.metrics.find(({ labels: own = {} }) =>
    Object.entries(labels).every(([key, value]) => own[key] === value),
  );
  return metric?.value === undefined ? undefined : Number(metric.value);
}

describe("bytes of pending requests", () => {
  it("are those of the inputs that wait, and none when all are executed, refused or gone", async () => {
    const bench = await served({ models: { m: echoModel() }, backend: { latencyNs: 2 * MS } });
    const gone = new AbortController();
    const answers = [0, 1, 2].map((value) => bench.infer("m", value));
    answers.push(bench.infer("m", 3, { signal: gone.signal }));
    const settled = Promise.allSettled(answers);
    await bench.clock.settle();
    expect(await told(bench, "naiad_pending_request_bytes")).toBe(3 * ROW_BYTES);
    gone.abort();
    expect(await told(bench, "naiad_pending_request_bytes")).toBe(2 * ROW_BYTES);
    await bench.clock.advance(2 * MS);
    expect(await told(bench, "naiad_pending_request_bytes")).toBe(ROW_BYTES);
    await bench.finish();
    expect(await told(bench, "naiad_pending_request_bytes")).toBe(0);
    const results = await settled;
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "fulfilled", "rejected"]);
  });
});

describe("the state of sequences", () => {
  const STATEFUL = echoModel(
    [1],
    `sequence_batching { state {
      input_name: "s" output_name: "t" data_type: TYPE_INT64 dims: [5]
      initial_state { name: "zero" data_type: TYPE_INT64 dims: [5] zero_data: true }
    } }`,
  );
  const STATE_BYTES = 5 * 8;

  it("is told by sequences and by bytes, which those that have just begun share", async () => {
    const bench = await served({ models: { m: STATEFUL }, backend: { latencyNs: MS } });
    const kept = async (): Promise<readonly (number | undefined)[]> => [
      await told(bench, "naiad_sequences"),
      await told(bench, "naiad_sequence_state_bytes"),
    ];
    const step = (id: bigint, flags: { readonly start: boolean; readonly end: boolean }): Promise<unknown> =>
      bench.server.modelInfer({ ...echoRequest("m", 1), sequence: { id, ...flags } }, { signal });
    const both = async (flags: { readonly start: boolean; readonly end: boolean }): Promise<void> => {
      const steps = [step(1n, flags), step(2n, flags)];
      await bench.clock.settle();
      // Not to the end of all time, when they would have been idle for too long.
      for (let count = 0; count < 4; count += 1) await bench.clock.advance(MS);
      await Promise.all(steps);
    };
    expect(await kept()).toEqual([0, 0]);
    const first = both({ start: true, end: false });
    await bench.until(() => bench.backend.executions.length > 0);
    expect(await kept()).toEqual([2, STATE_BYTES]);
    await first;
    expect(await kept()).toEqual([2, 2 * STATE_BYTES]);
    await both({ start: false, end: true });
    expect(await kept()).toEqual([0, 0]);
  });

  it("is nothing of models without sequences", async () => {
    const bench = await served({ models: { m: echoModel() } });
    expect(await told(bench, "naiad_sequences")).toBeUndefined();
    expect(await told(bench, "naiad_sequence_state_bytes")).toBeUndefined();
  });
});

describe("tensors on a device", () => {
  it("are told by their bytes while they lie there", async () => {
    const bench = await served(ON_DEVICE);
    const answer = bench.infer("e", 7);
    await bench.until(() => bench.backend.executions.length === 1);
    await bench.clock.advance(MS);
    const bytesOf = (model: string): Promise<number | undefined> =>
      told(bench, "naiad_device_tensor_bytes", { model });
    expect([await bytesOf("a"), await bytesOf("b")]).toEqual([ROW_BYTES, 0]);
    await bench.finish();
    await answer;
    expect([await bytesOf("a"), await bytesOf("b")]).toEqual([0, 0]);
  });
});
