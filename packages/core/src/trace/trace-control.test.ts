import { DEFAULT_TRACE_CONFIG, type TraceConfig } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { createTraceControl, type TraceControl } from "./trace-control.ts";

const FILE: TraceConfig = { ...DEFAULT_TRACE_CONFIG, destination: "file", file: "trace.json" };

function controlOf(config: Partial<TraceConfig> = {}): TraceControl {
  return createTraceControl({ config: { ...FILE, ...config } });
}

/** Which of so many requests to the model would be traced. */
function sampled(control: TraceControl, modelName: string, count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter(() =>
    control.settingOf(modelName).sample({ isForced: false }),
  );
}

describe("createTraceControl", () => {
  it("traces to a file where there is one", () => {
    const traces = controlOf();
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

  it("refuses to trace into a file without a name, and needs none in memory", () => {
    expect(() => {
      controlOf({ file: "" }).update("", { trace_level: ["TIMESTAMPS"] });
    }).toThrow("Attempting to set invalid trace setting :trace file name is not given");
    const inMemory = controlOf({ file: "", destination: "memory" });
    inMemory.update("", { trace_level: ["TIMESTAMPS"] });
    expect(inMemory.isActive).toBe(true);
  });

  it("lets no change of the global settings break those of a model", () => {
    const traces = controlOf();
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
    const traces = createTraceControl({ config: FILE, onChange: () => (changes += 1) });
    expect(traces.overrides()).toEqual([]);
    traces.update("", { trace_level: ["TIMESTAMPS"], trace_rate: "-1" });
    traces.update("m", { trace_level: ["OFF"], trace_count: "7", log_frequency: "3" });
    traces.update("n", { trace_rate: "1", trace_count: "1" });
    traces.update("o", { trace_count: "7" });
    traces.update("o", { trace_count: null });
    expect(changes).toBe(5);
    // A count that is used up is none that could be set.
    expect(sampled(traces, "n", 2)).toEqual([1]);

    const again = controlOf();
    for (const override of traces.overrides()) again.restore(override);
    expect(again.overrides()).toEqual(traces.overrides());
    for (const name of ["", "m", "n", "o"]) expect(again.settings(name)).toEqual(traces.settings(name));
    expect(again.settings("n").trace_count).toBe("0");
  });

  it("changes nothing where one value is wrong", () => {
    const traces = controlOf();
    expect(() => {
      traces.update("", { trace_rate: "5", trace_count: "-2" });
    }).toThrow(expect.objectContaining({ code: "INVALID_ARG" }));
    expect(traces.settings("").trace_rate).toBe("1000");
  });

  it("tells the mode's own settings, and those of files in the mode that writes them", () => {
    const control = controlOf({
      mode: "opentelemetry",
      openTelemetry: [
        ["url", "http://collector/"],
        ["resource", "a=1"],
        ["resource", "b=2"],
        ["bsp_max_queue_size", "7"],
      ],
    });
    expect(control.settings("")).toEqual({
      trace_level: ["OFF"],
      trace_rate: "1000",
      trace_count: "-1",
      trace_mode: "opentelemetry",
      url: "http://collector/",
      resource: "a=1,b=2",
      bsp_max_queue_size: "7",
    });
  });
});

describe("what is traced", () => {
  const ON = { level: ["TIMESTAMPS"], rate: 1 } as const;

  it("is each of the `rate`th requests, as often as `count` says", () => {
    const traces = controlOf({ ...ON, rate: 3, count: 2 });
    expect(sampled(traces, "m", 12)).toEqual([3, 6]);
    expect(traces.settings("").trace_count).toBe("0");
  });

  it("counts apart what a model with settings of its own gets", () => {
    const traces = controlOf({ ...ON, rate: 2 });
    traces.update("own", { trace_rate: "3" });
    const own = traces.settingOf("own");
    const turns = Array.from({ length: 6 }, () => [
      traces.settingOf("a").sample({ isForced: false }),
      own.sample({ isForced: false }),
    ]);
    expect(turns.map(([shared]) => shared)).toEqual([false, true, false, true, false, true]);
    expect(turns.map(([, mine]) => mine)).toEqual([false, false, true, false, false, true]);
  });

  it("begins to count anew after a change, with what is left of a count that was set", () => {
    const traces = controlOf({ ...ON, rate: 2, count: 4 });
    traces.update("m", { trace_count: "3" });
    expect(sampled(traces, "m", 3)).toEqual([2]);
    traces.update("m", { log_frequency: "5" });
    expect(traces.settings("m").trace_count).toBe("2");
    expect(sampled(traces, "m", 6)).toEqual([2, 4]);
    expect(() => {
      traces.update("m", { log_frequency: "6" });
    }).toThrow("Attempting to set invalid trace setting :trace_count is 0, or used up: set it anew");
    traces.update("m", { trace_count: "1" });
    expect(sampled(traces, "m", 4)).toEqual([2]);

    // A count of the command line comes back whole.
    expect(sampled(traces, "other", 4)).toEqual([2, 4]);
    traces.update("", { log_frequency: "1" });
    expect(traces.settings("").trace_count).toBe("4");
    expect(traces.settings("m").trace_count).toBe("0");
  });

  it("has its count in what another control goes on with, also one of the start", () => {
    let counted = 0;
    const config = { ...FILE, ...ON, rate: 2, count: 2 };
    const traces = createTraceControl({ config, onCounted: () => (counted += 1) });
    traces.update("m", { trace_count: "1" });
    expect([sampled(traces, "m", 2), sampled(traces, "other", 3)]).toEqual([[2], [2]]);
    expect(counted).toBe(2);
    const next = createTraceControl({ config });
    for (const override of traces.overrides()) next.restore(override);
    expect([next.settings("").trace_count, next.settings("m").trace_count]).toEqual(["1", "0"]);
    expect([sampled(next, "m", 4), sampled(next, "other", 6)]).toEqual([[], [2]]);
    next.update("", { trace_count: null });
    expect(next.settings("").trace_count).toBe("2");
  });

  it("is what a client traces itself, whatever rate and count say", () => {
    const traces = controlOf({ ...ON, mode: "opentelemetry", rate: 0 });
    expect(traces.isActive).toBe(true);
    const settingOf = (name: string) => traces.settingOf(name);
    expect(settingOf("m").sample({ isForced: false })).toBe(false);
    expect(settingOf("m").sample({ isForced: true })).toBe(true);
    traces.update("m", { trace_rate: "1", trace_count: "1" });
    expect([false, false, true].map((isForced) => settingOf("m").sample({ isForced }))).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("is nothing while all levels are off, and everything that was asked for once one is not", () => {
    const traces = controlOf({ rate: 1 });
    expect(traces.isActive).toBe(false);
    expect(sampled(traces, "m", 3)).toEqual([]);
    traces.update("m", { trace_level: ["TIMESTAMPS"] });
    expect(traces.isActive).toBe(true);
    expect([sampled(traces, "m", 2), sampled(traces, "n", 2)]).toEqual([[1, 2], []]);
    traces.update("m", { trace_level: null });
    expect(traces.isActive).toBe(false);
  });

  it("tells when a setting that was replaced has its last trace", () => {
    const ended: number[] = [];
    const traces = createTraceControl({ config: { ...FILE, ...ON }, onEnded: ({ id }) => ended.push(id) });
    const first = traces.settingOf("m");
    first.sample({ isForced: false });
    traces.update("", { trace_rate: "1" });
    expect(ended).toEqual([]);
    first.collect(() => undefined);
    expect(ended).toEqual([first.id]);
    // Nothing came of this one.
    traces.update("", { trace_rate: "1" });
    expect(ended).toEqual([first.id]);
  });
});
