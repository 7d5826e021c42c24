import { parseConfigText } from "@naiad/model-config";
import { describe, expect, it } from "vitest";
import { watchdogLimits, watchdogWarnings } from "./watchdog-limits.ts";

const SERVER = { createMs: 1, firstRunMs: 2, runMs: 3 };

describe("watchdogLimits", () => {
  it.each([
    ["", SERVER],
    ['parameters { key: "watchdog_run_ms" value { string_value: "500" } }', { ...SERVER, runMs: 500 }],
    [
      `parameters [
        { key: "watchdog_create_ms" value { string_value: " 7 " } },
        { key: "watchdog_first_run_ms" value { string_value: "0" } }
      ]`,
      { ...SERVER, createMs: 7, firstRunMs: 0 },
    ],
    ['parameters { key: "watchdog_run_ms" value { string_value: "soon" } }', SERVER],
    ['parameters { key: "watchdog_run_ms" value { string_value: "-1" } }', SERVER],
    ['parameters { key: "watchdog_run_ms" value { string_value: "" } }', SERVER],
    ['parameters { key: "watchdog_run_ms" value { string_value: "Infinity" } }', SERVER],
  ])("%s", (text, expected) => {
    const { parameters } = parseConfigText(`name: "m" ${text}`, { fileName: "config.pbtxt" });
    expect(watchdogLimits(SERVER, parameters)).toEqual(expected);
  });
});

describe("watchdogWarnings", () => {
  it.each([
    ["soon", ["parameter 'watchdog_run_ms' is 'soon', not a number of milliseconds: it is ignored"]],
    ["-1", ["parameter 'watchdog_run_ms' is '-1', not a number of milliseconds: it is ignored"]],
    ["", []],
    ["0", []],
    ["1e3", []],
  ])("of %j", (value, expected) => {
    const text = `parameters { key: "watchdog_run_ms" value { string_value: "${value}" } }`;
    const { parameters } = parseConfigText(text, { fileName: "config.pbtxt" });
    expect(watchdogWarnings(parameters)).toEqual(expected);
  });
});
