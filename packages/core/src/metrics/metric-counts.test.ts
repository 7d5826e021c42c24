import type { ServerBench } from "@naiad/testing";
import { echoModel, echoRequest } from "@naiad/testing";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { metricsOf, MS, ON_DEVICE, send, served, signal, valuesOf } from "../../test/metrics-bench.ts";

describe("counters", () => {
  it("count requests, rows and executions, and add up durations in whole microseconds", async () => {
    const times = { computeInputNs: 1_600, computeInferNs: 2_000_900, computeOutputNs: 999 };
    const bench = await served({
      models: { m: echoModel([1], "dynamic_batching { max_queue_delay_microseconds: 3000 }") },
      backend: { latencyNs: 2 * MS, onExecute: () => ({ kind: "complete", times }) },
    });
    send(bench, 2);
    await bench.finish();
    expect(
      await valuesOf(
        bench,
        "nv_inference_request_success",
        "nv_inference_count",
        "nv_inference_exec_count",
        "nv_inference_request_duration_us",
        "nv_inference_queue_duration_us",
        "nv_inference_compute_input_duration_us",
        "nv_inference_compute_infer_duration_us",
        "nv_inference_compute_output_duration_us",
      ),
    ).toEqual(["2", "2", "1", "10000", "6000", "3", "4001", "1"]);
  });

  it("begin anew when the model is loaded anew", async () => {
    const bench = await served({ models: { m: echoModel() } });
    await bench.infer("m", 1);
    expect(await valuesOf(bench, "nv_inference_count")).toEqual(["1"]);
    await bench.unload("m");
    await bench.load("m");
    expect(await valuesOf(bench, "nv_inference_count")).toEqual(["0"]);
  });

  it("tell failures by their reason, and nothing of what was refused at once", async () => {
    const policy = "default_timeout_microseconds: 1000 max_queue_size: 2";
    const bench = await served({
      models: { m: echoModel([1], `dynamic_batching { default_queue_policy { ${policy} } }`) },
      backend: {
        latencyNs: 5 * MS,
        onExecute: ({ requestIds }) =>
          requestIds.includes("bad")
            ? { kind: "fail", error: { code: "INTERNAL", message: "no" } }
            : { kind: "complete" },
      },
    });
    const failures = async (): Promise<object> => {
      const metrics = await metricsOf(bench);
      const reasons = ["REJECTED", "CANCELED", "BACKEND", "OTHER"];
      return Object.fromEntries(
        reasons.map((reason) => [
          reason,
          metrics.get(`nv_inference_request_failure model=m reason=${reason} version=1`),
        ]),
      );
    };
    expect(await failures()).toEqual({ REJECTED: "0", CANCELED: "0", BACKEND: "0", OTHER: "0" });

    bench.infer("m", 1, { id: "bad" }).catch(() => undefined);
    // It waits too long for the only instance; of those behind it one does not fit in the queue.
    send(bench, 2);
    await expect(bench.infer("m", 1)).rejects.toThrow("Exceeds maximum queue size");
    await bench.finish();
    expect(await failures()).toEqual({ REJECTED: "2", CANCELED: "0", BACKEND: "1", OTHER: "0" });

    const gone = new AbortController();
    send(bench, 1, { signal: gone.signal });
    gone.abort();
    await bench.finish();
    const invalid = { ...echoRequest("m", 1), inputs: [] };
    await expect(bench.server.modelInfer(invalid, { signal })).rejects.toThrow();
    expect(await failures()).toEqual({ REJECTED: "2", CANCELED: "1", BACKEND: "1", OTHER: "0" });
    expect(await valuesOf(bench, "nv_inference_request_success")).toEqual(["0"]);
  });

  it("tell apart what failed in a backend and what never came to one", async () => {
    const gone = new InferenceError("INTERNAL", "no more of them");
    const bench = await served({
      models: { m: echoModel() },
      backend: {
        onCreate: (_placement, generation) =>
          generation === 0 ? { kind: "create" } : { kind: "fail", error: gone },
        onExecute: () => ({ kind: "hang" }),
      },
    });
    send(bench, 3);
    await bench.clock.settle();
    bench.backend.lose("m_0");
    await bench.finish();
    const metrics = await metricsOf(bench);
    const failures = ["BACKEND", "OTHER"].map((reason) =>
      metrics.get(`nv_inference_request_failure model=m reason=${reason} version=1`),
    );
    expect(failures).toEqual(["1", "2"]);
  });

  it("tell what limited batches", async () => {
    const bench = await served({
      models: { m: echoModel([1], "dynamic_batching {}") },
      backend: { latencyNs: MS },
    });
    send(bench, 7);
    await bench.finish();
    const metrics = await metricsOf(bench);
    const limits = ["no_delay", "full", "instance_busy", "shape"].map((reason) =>
      metrics.get(`naiad_batch_limit_total model=m reason=${reason} version=1`),
    );
    expect(limits).toEqual(["1", "1", "1", "0"]);
  });

  it("tell instances by state, replacements and outputs that are no numbers", async () => {
    const bench = await served({
      models: { m: echoModel([1], "instance_group { count: 2 kind: KIND_CPU }") },
      backend: { onExecute: () => ({ kind: "complete", nonFiniteOutputs: 3 }) },
    });
    const instances = async (): Promise<readonly (string | undefined)[]> => {
      const metrics = await metricsOf(bench);
      const states = ["loading", "ready", "lost"];
      return states.map((state) => metrics.get(`naiad_instances model=m state=${state} version=1`));
    };
    expect(await instances()).toEqual(["0", "2", "0"]);
    await bench.infer("m", 1);
    bench.backend.lose("m_0_1");
    await bench.finish();
    expect(await instances()).toEqual(["0", "2", "0"]);
    const metrics = await metricsOf(bench);
    expect(metrics.get("naiad_non_finite_outputs_total instance=m_0_0 model=m version=1")).toBe("3");
    expect(metrics.get("naiad_instance_replacements_total instance=m_0_1 model=m version=1")).toBe("1");
    expect(metrics.get("naiad_instance_replacements_total instance=m_0_0 model=m version=1")).toBe("0");
  });
});

describe("tensors on a device", () => {
  it("are told, and those that were read from there", async () => {
    const bench = await served(ON_DEVICE);
    await bench.load("e");
    const told = async (): Promise<readonly (string | undefined)[]> => {
      const metrics = await metricsOf(bench);
      return ["naiad_device_tensors", "naiad_device_readbacks_total"].flatMap((name) =>
        ["a", "b"].map((model) => metrics.get(`${name} instance=${model}_0 model=${model} version=1`)),
      );
    };
    const answer = bench.infer("e", 7);
    await bench.until(() => bench.backend.executions.length === 1);
    await bench.clock.advance(MS);
    expect(await told()).toEqual(["1", "0", "0", "0"]);
    await bench.finish();
    await answer;
    expect(await told()).toEqual(["0", "0", "0", "1"]);
  });
});

describe("pending requests", () => {
  const pending = (bench: ServerBench): Promise<readonly (string | undefined)[]> =>
    valuesOf(bench, "nv_inference_pending_request_count");

  it("are those that wait behind the one that executes", async () => {
    const bench = await served({ models: { m: echoModel() }, backend: { latencyNs: 2 * MS } });
    expect(await pending(bench)).toEqual(["0"]);
    send(bench, 10);
    for (let left = 9; left >= 0; left -= 1) {
      await bench.clock.settle();
      expect(await pending(bench)).toEqual([String(left)]);
      await bench.clock.advance(2 * MS);
    }
    expect(await pending(bench)).toEqual(["0"]);
  });

  it("become fewer by a batch at a time where requests share executions", async () => {
    const bench = await served({
      models: { m: echoModel([1], "dynamic_batching { max_queue_delay_microseconds: 1000 }") },
      backend: { latencyNs: 5 * MS },
    });
    send(bench, 10);
    await bench.clock.advance(MS);
    expect(await pending(bench)).toEqual(["6"]);
    await bench.clock.advance(5 * MS);
    expect(await pending(bench)).toEqual(["2"]);
    await bench.clock.advance(5 * MS);
    expect(await pending(bench)).toEqual(["0"]);
    await bench.finish();
  });

  it("are not those that were refused, cancelled or executed before they are answered in order", async () => {
    const bench = await served({
      models: {
        m: echoModel(
          [1],
          "instance_group { count: 2 kind: KIND_CPU } dynamic_batching { preserve_ordering: true " +
            "default_queue_policy { max_queue_size: 3 } }",
        ),
      },
      backend: {
        onExecute: ({ instanceName }) => ({
          kind: "complete",
          latencyNs: instanceName === "m_0_0" ? 10 * MS : MS,
        }),
      },
    });
    send(bench, 2);
    const gone = new AbortController();
    send(bench, 4, { signal: gone.signal });
    expect(await pending(bench)).toEqual(["3"]);
    gone.abort();
    expect(await pending(bench)).toEqual(["0"]);
    await bench.clock.advance(2 * MS);
    expect(await pending(bench)).toEqual(["0"]);
    await bench.finish();
    expect(await valuesOf(bench, "nv_inference_request_success")).toEqual(["2"]);
  });

  it("do not come back when an execution is lost and repeated", async () => {
    let isFirst = true;
    const bench = await served({
      models: { m: echoModel() },
      backend: {
        latencyNs: MS,
        onExecute: () => {
          const answer = isFirst
            ? ({ kind: "lose", culprit: true } as const)
            : ({ kind: "complete" } as const);
          isFirst = false;
          return answer;
        },
      },
    });
    send(bench, 2);
    await bench.clock.settle();
    expect(await pending(bench)).toEqual(["1"]);
    await bench.finish();
    expect(await pending(bench)).toEqual(["0"]);
    expect(await valuesOf(bench, "nv_inference_request_success")).toEqual(["2"]);
  });
});

describe("load time", () => {
  it("is how long the model took until it could serve", async () => {
    const bench = await served({
      models: { m: echoModel() },
      backend: { onCreate: () => ({ kind: "create", latencyNs: 1.5e9 }) },
    });
    expect(await valuesOf(bench, "nv_model_load_duration_secs")).toEqual(["1.5"]);
    await bench.infer("m", 1);
    expect(await valuesOf(bench, "nv_model_load_duration_secs")).toEqual(["1.5"]);
  });
});
