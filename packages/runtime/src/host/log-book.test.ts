import { createLogControl } from "@naiad/core";
import { SERVER_OPTIONS } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createLogBook } from "./log-book.ts";
import type { LogLine } from "./log-book.ts";

function book(options: { readonly capacity?: number } = {}) {
  const control = createLogControl(SERVER_OPTIONS);
  const written: LogLine[] = [];
  const texts: string[] = [];
  const log = createLogBook({
    epochMs: () => 5,
    sink: (line, text) => {
      written.push(line);
      texts.push(text);
    },
    control,
    ...options,
  });
  return { log, written, texts, control };
}

describe("createLogBook", () => {
  it("writes each line and tells it, those that came before too", () => {
    const { log, written } = book();
    const heard: LogLine[] = [];
    const late: LogLine[] = [];
    const stop = log.subscribe((line) => heard.push(line));
    log.log("warning", "a");
    stop();
    log.log("error", "b");
    log.subscribe((line) => late.push(line));
    const [a, b] = [
      { level: "warning", message: "a", epochMs: 5 },
      { level: "error", message: "b", epochMs: 5 },
    ];
    expect(written).toEqual([a, b]);
    expect(heard).toEqual([a]);
    expect(late).toEqual([a, b]);
  });

  it("forgets the oldest", () => {
    const { log } = book({ capacity: 2 });
    for (const message of ["a", "b", "c"]) log.log("info", message);
    const kept: string[] = [];
    log.subscribe(({ message }) => kept.push(message));
    expect(kept).toEqual(["b", "c"]);
  });

  it("writes lines in the format that the settings say at that moment", () => {
    const { log, texts, control } = book();
    log.log("info", "a");
    control.update({ log_format: "ISO8601" });
    log.log("warning", "b");
    expect(texts).toEqual(['I0101 00:00:00.005000 naiad] "a"', '1970-01-01T00:00:00Z W naiad] "b"']);
  });

  it("drops what the settings do not want at that moment", () => {
    const { log, written, control } = book();
    log.log("verbose", "too early");
    control.update({ log_verbose_level: 1, log_info: false });
    log.log("verbose", "detail");
    log.log("info", "too late");
    expect(written.map(({ message }) => message)).toEqual(["detail"]);
  });
});
