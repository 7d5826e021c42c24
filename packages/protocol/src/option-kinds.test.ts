import { describe, expect, it } from "vitest";
import {
  BASE,
  BOOLEAN,
  FUNCTION,
  STRING,
  STRINGS,
  checkOptionKinds,
  dictionary,
  integer,
  list,
  oneOf,
  record,
} from "./option-kinds.ts";
import type { OptionKind } from "./option-kinds.ts";

const circular: Record<string, unknown> = {};
circular["self"] = circular;
const WRONG = [null, [], {}, 0.5, NaN, 1n, Symbol("s"), circular];

const CASES: readonly (readonly [OptionKind, right: readonly unknown[], wrong: readonly unknown[]])[] = [
  [STRING, ["", "a"], [null, 1, ["a"], {}]],
  [BOOLEAN, [true, false], [null, 0, "true"]],
  [FUNCTION, [() => 1], [null, {}]],
  [STRINGS, ["a", [], ["a", "b"]], [null, [1], {}]],
  [BASE, ["/", "/a/", "/a/b/"], ["", "a/", "/a", "//other/", "https://a/", "/a?b/", "/a#/", null, 1]],
  [integer(1), [1, 2], [0, 1.5, NaN, Infinity, "1", null, 1n]],
  [oneOf("a", "b"), ["a"], ["c", null, ["a"], 0]],
  [list(STRING), [[], ["a"]], [null, "a", [null], {}]],
  [dictionary(STRING), [{}, { a: "b" }], [null, [], { a: 1 }, "a"]],
  [
    record({ a: STRING, b: BOOLEAN }, ["a"]),
    [{ a: "x" }, { a: "x", b: undefined }, { a: "x", b: true }],
    [{}, [], null, { a: undefined }, { a: 1 }, { a: "x", c: 1 }, { a: "x", toString: 1 }],
  ],
];

describe("option kinds", () => {
  it.each(CASES.map(([kind, right, wrong]) => ({ kind, right, wrong })))(
    "$kind.text",
    ({ kind, right, wrong }) => {
      expect(right.filter((value) => !kind.holds(value))).toEqual([]);
      expect(wrong.filter((value) => kind.holds(value))).toEqual([]);
    },
  );
});

describe("checkOptionKinds", () => {
  const check = { subject: "start", kinds: { url: STRING, count: integer(0) }, required: ["url"] };

  it("takes what it knows, and undefined for what may be left out", () => {
    checkOptionKinds({ url: "a" }, check);
    checkOptionKinds({ url: "a", count: undefined }, check);
  });

  it.each([
    [undefined, "the options of start must be an object, but they are undefined"],
    [null, "the options of start must be an object, but they are null"],
    ["m", "the options of start must be an object, but they are 'm'"],
    [[], "the options of start must be an object, but they are []"],
    [{}, "start needs the option 'url': a string"],
    [{ url: undefined }, "start needs the option 'url': a string"],
    [{ url: null }, "start's option 'url' must be a string, but it is null"],
    [{ urls: "a" }, "start has no option 'urls'"],
    [{ url: "a", toString: 1 }, "start has no option 'toString'"],
    [{ url: "a", count: NaN }, "start's option 'count' must be a whole number of at least 0, but it is NaN"],
  ])("refuses %j", (options, text) => {
    expect(() => {
      checkOptionKinds(options, check);
    }).toThrow(new TypeError(text));
  });

  it("has a text for any value", () => {
    for (const url of WRONG) {
      expect(() => {
        checkOptionKinds({ url }, check);
      }).toThrow(/^start's option 'url' must be a string, but it is ./);
    }
  });
});
