import { describe, expect, it } from "vitest";
import { createTraceControl } from "./trace-settings.ts";

describe("createTraceControl", () => {
  it("traces to a file where there is one", () => {
    const traces = createTraceControl({ file: "trace.json" });
    traces.update("", { trace_level: ["TENSORS", "other", "TIMESTAMPS"] });
    expect(traces.settings("")).toMatchObject({
      trace_level: ["TIMESTAMPS", "TENSORS"],
      trace_file: "trace.json",
    });
    traces.update("m", { trace_level: ["OFF"] });
    expect(traces.settings("m").trace_level).toEqual(["OFF"]);
    traces.update("m", { trace_level: null });
    expect(traces.settings("m").trace_level).toEqual(["TIMESTAMPS", "TENSORS"]);
  });

  it("lets no change of the global settings break those of a model", () => {
    const traces = createTraceControl({ file: "trace.json" });
    traces.update("m", { trace_level: ["TIMESTAMPS"] });
    expect(() => {
      traces.update("", { trace_rate: "0" });
    }).toThrow("sample rate must be non-zero");
    expect(traces.settings("").trace_rate).toBe("1000");
    traces.update("m", { trace_rate: "3" });
    traces.update("", { trace_rate: "0" });
    expect([traces.settings("").trace_rate, traces.settings("m").trace_rate]).toEqual(["0", "3"]);
  });

  it("can be made again from its overrides, and says when they change", () => {
    let changes = 0;
    const traces = createTraceControl({ file: "trace.json", onChange: () => (changes += 1) });
    expect(traces.overrides()).toEqual([]);
    traces.update("", { trace_level: ["TIMESTAMPS"], trace_rate: "-1" });
    traces.update("m", { trace_level: ["OFF"], trace_count: "7", log_frequency: "3" });
    traces.update("n", { trace_count: "7" });
    traces.update("n", { trace_count: null });
    expect(changes).toBe(4);

    const again = createTraceControl({ file: "trace.json" });
    for (const { modelName, update } of traces.overrides()) again.update(modelName, update);
    expect(again.overrides()).toEqual(traces.overrides());
    for (const name of ["", "m", "n"]) expect(again.settings(name)).toEqual(traces.settings(name));
  });

  it("changes nothing where one value is wrong", () => {
    const traces = createTraceControl();
    expect(() => {
      traces.update("", { trace_rate: "5", trace_count: "-2" });
    }).toThrow(expect.objectContaining({ code: "INVALID_ARG" }));
    expect(traces.settings("").trace_rate).toBe("1000");
  });
});
