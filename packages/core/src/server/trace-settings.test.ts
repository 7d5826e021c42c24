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

  it("changes nothing where one value is wrong", () => {
    const traces = createTraceControl();
    expect(() => {
      traces.update("", { trace_rate: "5", trace_count: "-2" });
    }).toThrow(expect.objectContaining({ code: "INVALID_ARG" }));
    expect(traces.settings("").trace_rate).toBe("1000");
  });
});
