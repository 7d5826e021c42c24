import { expect, it } from "vitest";
import { formatLogLine } from "./format-log-line.ts";

const AT = Date.UTC(2026, 8, 10, 12, 34, 56, 7) + 0.25;

it.each([
  ["info", "default", 'I0910 12:34:56.007250 naiad] "it \\"works\\""'],
  ["verbose", "default", 'I0910 12:34:56.007250 naiad] "it \\"works\\""'],
  ["warning", "default", 'W0910 12:34:56.007250 naiad] "it \\"works\\""'],
  ["error", "ISO8601", '2026-09-10T12:34:56Z E naiad] "it \\"works\\""'],
] as const)("a line of level %s in format %s", (level, format, expected) => {
  expect(formatLogLine({ level, message: 'it "works"', epochMs: AT }, format)).toBe(expected);
});

it("keeps a message of several lines on one", () => {
  const line = formatLogLine({ level: "info", message: "a\nI0910 b", epochMs: AT }, "default");
  expect(line.endsWith('naiad] "a\\nI0910 b"')).toBe(true);
});
