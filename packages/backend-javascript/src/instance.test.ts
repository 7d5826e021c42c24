import type { WireError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { bench } from "../test/model-bench.ts";
import type { MetricFamily, MetricFamilyOptions, Model, ModelArgs, ModelClass } from "./model/model.ts";

/** Of models that no compiler has read. */
const WRONG_METRICS: readonly ((counter: MetricFamily, histogram: MetricFamily) => unknown)[] = [
  (counter) => counter.metric({ labels: { a: 5 as unknown as string } }),
  (counter) => counter.metric({ labels: { "a b": "1" } }),
  (counter) => counter.metric({ labels: { __name__: "1" } }),
  (_, histogram) => histogram.metric({ labels: { le: "1" }, buckets: [1] }),
  (counter) => {
    counter.metric().increment("5" as unknown as number);
  },
  (_, histogram) => {
    histogram.metric({ buckets: [1] }).observe(undefined as unknown as number);
  },
  (_, histogram) => histogram.metric({ buckets: [1, Infinity] }),
  (_, histogram) => histogram.metric({ buckets: ["1", "2"] as unknown as number[] }),
];

describe("what a model is given", () => {
  it("are Triton's arguments, its files and the log", async () => {
    const seen: unknown[] = [];
    const { log } = await bench(
      class implements Model {
        async initialize(args: ModelArgs): Promise<void> {
          const { modelName, modelVersion, modelInstanceName, modelInstanceKind, modelInstanceDeviceId } =
            args;
          seen.push(modelName, modelVersion, modelInstanceName, modelInstanceKind, modelInstanceDeviceId);
          seen.push((JSON.parse(args.modelConfig) as { readonly max_batch_size: number }).max_batch_size);
          seen.push(await args.files.readText("labels.txt"), await args.files.readJson("1/a.json"));
          await expect(args.files.read("1/b.json")).rejects.toThrow("no file '1/b.json' in the model");
          args.logger.warn("careful");
        }
        execute(): null {
          return null;
        }
      },
      { files: { "labels.txt": "cat", "1/a.json": "[1]" } },
    );
    expect(seen).toEqual(["m", "1", "m_0_0", "CPU", "0", 4, "cat", [1]]);
    expect(log).toEqual(["warning: careful"]);
  });

  it("are metrics of the server's, with Triton's texts for what they cannot do", async () => {
    const texts: string[] = [];
    const values: number[] = [];
    await bench(
      class implements Model {
        async initialize(args: ModelArgs): Promise<void> {
          const counter = await args.metricFamily({ name: "n", description: "N", kind: "counter" });
          const histogram = await args.metricFamily({ name: "h", description: "H", kind: "histogram" });
          const metric = counter.metric({ labels: { a: "1" } });
          metric.increment(2);
          values.push(await metric.value());
          for (const wrong of [
            () => metric.increment(-1),
            () => metric.set(1),
            () => metric.observe(1),
            () => counter.metric({ buckets: [1] }),
            ...WRONG_METRICS.map((wrong) => () => void wrong(counter, histogram)),
          ]) {
            try {
              wrong();
            } catch (thrown) {
              texts.push(thrown instanceof Error ? thrown.message : "");
            }
          }
          for (const wrong of [{ name: "a b", description: "" }, { description: "" }, { name: "x" }]) {
            const options = { ...wrong, kind: "gauge" } as MetricFamilyOptions;
            await expect(args.metricFamily(options)).rejects.toThrow(/no name for|no description/);
          }
          await expect(args.metricFamily({ name: "n", description: "", kind: "gauge" })).rejects.toThrow(
            "is there already",
          );
        }
        execute(): null {
          return null;
        }
      },
    );
    expect(values).toEqual([2]);
    expect(texts).toEqual([
      "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.",
      "TRITONSERVER_METRIC_KIND_COUNTER does not support Set",
      "TRITONSERVER_METRIC_KIND_COUNTER does not support Observe",
      "Unexpected buckets found.",
      "label 'a' must be text, but it is number",
      "'a b' is no name for a label of a counter",
      "'__name__' is no name for a label of a counter",
      "'le' is no name for a label of a histogram",
      "a metric takes numbers, and not string",
      "a metric takes numbers, and not undefined",
      "Must be a histogram metric family with buckets that ascend",
      "Must be a histogram metric family with buckets that ascend",
    ]);
  });

  it("fails the load with what initialize throws", async () => {
    const failing = class implements Model {
      initialize(): void {
        throw new RangeError("no weights");
      }
      execute(): null {
        return null;
      }
    };
    const error = (await bench(failing).catch((thrown: unknown) => thrown)) as WireError;
    expect([error.code, error.message]).toEqual(["INTERNAL", "RangeError: no weights"]);
  });
});

describe("readiness and the end", () => {
  const saying = (isReady: unknown): ModelClass =>
    class {
      isReady(): boolean {
        return isReady as boolean;
      }
      execute(): null {
        return null;
      }
    };

  it("is the model's own word", async () => {
    const check = async (isReady: unknown): Promise<void> =>
      (await bench(saying(isReady))).instance.checkReady();
    await expect(check(true)).resolves.toBeUndefined();
    await expect(check(Promise.resolve(true))).resolves.toBeUndefined();
    await expect(check(false)).rejects.toThrow("Model 'm_0_0' is not ready (user-defined check failed).");
    await expect(check(1)).rejects.toThrow("isReady() must return a boolean value");
  });

  it("logs what finalize throws", async () => {
    const { instance, log } = await bench(
      class {
        finalize(): void {
          throw new Error("late");
        }
        execute(): null {
          return null;
        }
      },
    );
    await instance.release();
    expect(log).toEqual(["error: finalize of 'm_0_0' failed: Error: late"]);
  });
});
