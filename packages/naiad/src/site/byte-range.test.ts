import { expect, it } from "vitest";
import { parseRange, type RequestedRange } from "./byte-range.ts";

const whole: RequestedRange = { kind: "whole" };
const part = (start: number, end: number): RequestedRange => ({ kind: "part", start, end });
const unsatisfiable: RequestedRange = { kind: "unsatisfiable" };

it.each<[string | undefined, number, RequestedRange]>([
  [undefined, 100, whole],
  ["bytes=0-", 100, part(0, 100)],
  ["bytes=0-0", 100, part(0, 1)],
  ["bytes=10-19", 100, part(10, 20)],
  ["Bytes=90-200", 100, part(90, 100)],
  ["bytes=-5", 100, part(95, 100)],
  ["bytes=-500", 100, part(0, 100)],
  ["bytes=100-", 100, unsatisfiable],
  ["bytes=0-", 0, unsatisfiable],
  ["bytes=-0", 100, unsatisfiable],
  ["bytes=5-3", 100, whole],
  ["bytes=-", 100, whole],
  ["bytes=0-1,5-6", 100, whole],
  ["lines=1-2", 100, whole],
  ["bytes=1-x", 100, whole],
])("parseRange(%j, %i)", (header, size, expected) => {
  expect(parseRange(header, size)).toEqual(expected);
});
