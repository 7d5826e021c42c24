import { describe, expect, it } from "vitest";
import { readServeOptions } from "./serve-options.ts";

function read(argv: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const options = readServeOptions(["--model-repository=m", ...argv], environment);
  if (options === "help") throw new Error("no help was asked for");
  return options;
}

const configs = (...texts: readonly string[]): string[] => texts.map((text) => `--trace-config=${text}`);

describe("--trace-config", () => {
  it("says what is traced, how often and where to", () => {
    const { trace, warnings } = read(
      configs(
        ...["triton,file=t.json", "triton,log-frequency=50", "rate=100", "count=7", "mode=Triton"],
        ...["level=timestamps", "level=TENSORS"],
      ),
    );
    expect(trace).toEqual({
      mode: "triton",
      level: ["TIMESTAMPS", "TENSORS"],
      rate: 100,
      count: 7,
      logFrequency: 50,
      file: "t.json",
      destination: "file",
      openTelemetry: [],
    });
    expect(warnings).toEqual([]);
  });

  it("is nothing where one level is OFF, and takes the words of old", () => {
    expect(read(configs("level=TIMESTAMPS", "level=OFF")).trace.level).toEqual([]);
    expect(read(configs("level=max")).trace.level).toEqual(["TIMESTAMPS"]);
    expect(read([]).trace).toMatchObject({ level: [], rate: 1000, count: -1, file: "" });
  });

  it("takes the name of the file without its mode too", () => {
    expect(read(configs("file=t.json", "log-frequency=2")).trace).toMatchObject({
      file: "t.json",
      logFrequency: 2,
    });
  });

  it("has the settings of the mode opentelemetry, with those of the environment for batches", () => {
    const { trace } = read(
      configs(
        ...[
          "opentelemetry,url=http://c:4318/v1/traces",
          "opentelemetry,resource=a=b=c",
          "mode=opentelemetry",
        ],
        ...["opentelemetry,resource=d=e", "opentelemetry,bsp_schedule_delay=7"],
      ),
      { OTEL_BSP_MAX_QUEUE_SIZE: "99" },
    );
    expect(trace).toMatchObject({ mode: "opentelemetry", destination: "file" });
    expect(trace.openTelemetry).toEqual([
      ["url", "http://c:4318/v1/traces"],
      ["resource", "a=b=c"],
      ["resource", "d=e"],
      ["bsp_schedule_delay", "7"],
      ["bsp_max_queue_size", "99"],
      ["bsp_max_export_batch_size", "512"],
    ]);
    // They are of no interest to the other mode.
    expect(read(configs("opentelemetry,url=http://c")).trace.openTelemetry).toEqual([]);
  });

  it("goes before the options that it has replaced, which are still taken", () => {
    const old = ["--trace-file=a", "--trace-level=TIMESTAMPS", "--trace-level=TENSORS", "--trace-rate=5"];
    const { trace, warnings } = read([
      ...old,
      "--trace-count=3",
      "--trace-log-frequency=2",
      ...configs("rate=6"),
    ]);
    expect(trace).toMatchObject({
      file: "a",
      level: ["TIMESTAMPS", "TENSORS"],
      rate: 6,
      count: 3,
      logFrequency: 2,
    });
    expect(warnings).toHaveLength(5);
    expect(warnings[0]).toBe("--trace-file is deprecated; say it with --trace-config triton,file=...");
    expect(read(["--trace-file=a", ...configs("mode=opentelemetry")]).warnings).toContain(
      "'--trace-file' is deprecated and will be ignored with opentelemetry tracing mode.",
    );
  });

  const FORM = "--trace-config option format is '<trace mode>,<setting>=<value>'. Got ";
  it.each([
    [
      [",level=OFF"],
      "No trace mode specified. --trace-config option format is <trace mode>,<setting>=<value>",
    ],
    [["level"], `${FORM}level`],
    [["triton,=x"], `${FORM}triton,=x`],
    [["file="], `${FORM}file=`],
    [
      ["jaeger,url=x"],
      'invalid value for trace mode option: jaeger. Available options are "triton" and "opentelemetry"',
    ],
    [["mode=Jaeger"], "invalid value for trace mode option: jaeger"],
    [["level=ALL"], 'Bad option: "--trace-config level".\ninvalid value for trace level option: all'],
    [["rate=often"], 'Bad option: "--trace-config rate".\nInvalid option value. Got often'],
    [
      ["count=3000000000"],
      'Bad option: "--trace-config count".\nProvided option value is out of bound. Got 3000000000',
    ],
    [
      ["triton,log-frequency=x"],
      'Bad option: "--trace-config triton,log-frequency".\nInvalid option value. Got x',
    ],
    [["mode=opentelemetry", "opentelemetry,bsp_schedule_delay=x"], "opentelemetry,bsp_schedule_delay"],
    [["opentelemetry,resource=x"], "must be <key>=<value>, but it is 'x'"],
    [["fille=x"], "--trace-config: there is no setting 'fille'"],
    [["triton,url=x"], "--trace-config: there is no setting 'url' of triton"],
  ])("refuses %j", (texts, message) => {
    expect(() => read(configs(...texts))).toThrow(message);
  });

  it("names the variable of the environment that is wrong", () => {
    expect(() => read(configs("mode=opentelemetry"), { OTEL_BSP_SCHEDULE_DELAY: "soon" })).toThrow(
      'Bad option: "OTEL_BSP_SCHEDULE_DELAY".\nInvalid option value. Got soon',
    );
  });
});
