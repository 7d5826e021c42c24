import { describe, expect, it } from "vitest";
import { createCustomMetrics } from "./custom-metrics.ts";
import { writeMetrics } from "./write-metrics.ts";

describe("custom metrics", () => {
  it("are one for equal names and labels, whoever writes them", () => {
    const metrics = createCustomMetrics();
    const faces = { name: "faces", description: "Faces found", kind: "counter" } as const;
    metrics.declare(faces);
    metrics.declare(faces);
    for (const labels of [{ a: "1", b: "2" }, { b: "2", a: "1" }, { a: "2" }]) {
      metrics.update({ family: "faces", labels, change: { kind: "create", buckets: [] } });
      metrics.update({ family: "faces", labels, change: { kind: "increment", value: 2 } });
    }
    expect(metrics.value({ family: "faces", labels: { a: "1", b: "2" } })).toBe(4);
    expect(writeMetrics(metrics.families())).toBe(
      '# HELP faces Faces found\n# TYPE faces counter\nfaces{a="1",b="2"} 4\nfaces{a="2"} 2\n',
    );
  });

  it("keep the last value of a gauge and the distribution of a histogram", () => {
    const metrics = createCustomMetrics();
    const at = (family: string) => ({ family, labels: {} });
    metrics.declare({ name: "level", description: "Level", kind: "gauge" });
    metrics.declare({ name: "size", description: "Size", kind: "histogram" });
    metrics.update({ ...at("level"), change: { kind: "create", buckets: [] } });
    metrics.update({ ...at("size"), change: { kind: "create", buckets: [1, 10] } });
    metrics.update({ ...at("level"), change: { kind: "set", value: 7 } });
    metrics.update({ ...at("level"), change: { kind: "increment", value: -2 } });
    for (const value of [1, 5, 50]) {
      metrics.update({ ...at("size"), change: { kind: "observe", value } });
    }
    expect(metrics.value(at("level"))).toBe(5);
    expect(metrics.families()[1]).toMatchObject({
      kind: "histogram",
      metrics: [{ count: 3, sum: 56, buckets: [{ count: 1 }, { count: 2 }] }],
    });
    expect(() => metrics.value(at("size"))).toThrow("metric family 'size' has no such metric");
  });

  it.each(["nv_inference_count", "nv_gpu_utilization", "naiad_workers"])("leave %s to the server", (name) => {
    const metrics = createCustomMetrics();
    expect(() => {
      metrics.declare({ name, description: "", kind: "counter" });
    }).toThrow(`names such as '${name}' are of the server's own metrics`);
    metrics.declare({ name: "nv_llm_tokens", description: "", kind: "counter" });
  });

  it("refuse a name that stands for something of another kind", () => {
    const metrics = createCustomMetrics();
    metrics.declare({ name: "faces", description: "", kind: "counter" });
    expect(() => {
      metrics.declare({ name: "faces", description: "", kind: "gauge" });
    }).toThrow("metric family 'faces' is there already, as a counter");
  });
});
