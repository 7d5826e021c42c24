import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { asInteger, asUnsigned, elementsOf, isArrayNode } from "./json-access.ts";
import { JsonFloat, type JsonNode, NumberArray } from "./json-node.ts";
import { readExactArray, readJson } from "./json-reader.ts";
import { encodeJson, formatDouble, parseJson, stringifyJson } from "./json.ts";
import type { JsonValue } from "./messages.ts";
import { InferenceError } from "./status.ts";

function failure(run: () => unknown): InferenceError {
  try {
    run();
  } catch (thrown) {
    if (thrown instanceof InferenceError) return thrown;
    throw thrown;
  }
  throw new Error("nothing was thrown");
}

describe("parseJson, syntax errors", () => {
  it.each([
    ["", "The document is empty.", 0],
    [" \n\t", "The document is empty.", 3],
    ["{", "Missing a name for object member.", 1],
    ['{"a":1,}', "Missing a name for object member.", 7],
    ["{a:1}", "Missing a name for object member.", 1],
    ['{"a" 1}', "Missing a colon after a name of object member.", 5],
    ['{"a":1 "b":2}', "Missing a comma or } after an object member.", 7],
    ["[1 2]", "Missing a comma or ] after an array element.", 3],
    ["[01]", "Missing a comma or ] after an array element.", 2],
    ["[1,]", "Invalid value.", 3],
    ["nul", "Invalid value.", 3],
    ["nulx", "Invalid value.", 3],
    ["+1", "Invalid value.", 0],
    ["-", "Invalid value.", 1],
    ["Na", "Invalid value.", 2],
    ["Infx", "The document root must not be followed by other values.", 3],
    ["Infinix", "Invalid value.", 6],
    ["'a'", "Invalid value.", 0],
    ["1 1", "The document root must not be followed by other values.", 2],
    ['"abc', "Missing a closing quotation mark in string.", 4],
    ['"a\\x"', "Invalid escape character in string.", 2],
    ['"a\\', "Invalid escape character in string.", 2],
    ['"a\nb"', "Invalid encoding in string.", 2],
    ['"\\u12G4"', "Incorrect hex digit after \\u escape in string.", 1],
    ['"\\ud800"', "The surrogate pair in string is invalid.", 1],
    ['"\\ud800\\u0041"', "The surrogate pair in string is invalid.", 1],
    ['"\\udc00"', "The surrogate pair in string is invalid.", 1],
    ["1e400", "Number too big to be stored in double.", 0],
    ["[1.]", "Miss fraction part in number.", 3],
    ["[1e]", "Miss exponent in number.", 3],
    ["[1e+]", "Miss exponent in number.", 4],
    // Offsets count bytes, not characters.
    ['"äö" x', "The document root must not be followed by other values.", 7],
    ['"\u{1f600}" x', "The document root must not be followed by other values.", 7],
  ])("%j: %s at %i", (text, message, offset) => {
    const expected = `failed to parse the request JSON buffer: ${message} at ${String(offset)}`;
    for (const input of [text, new TextEncoder().encode(text)]) {
      const error = failure(() => parseJson(input));
      expect(error.code).toBe("INTERNAL");
      expect(error.message).toBe(expected);
    }
  });

  it.each([
    [[0x22, 0xff, 0x22], 1],
    [[0x22, 0xef, 0xbf, 0xbd, 0xc3, 0x22], 4],
    [[0xef, 0xbb, 0xbf, 0x22, 0xc3, 0x28, 0x22], 4],
  ])("bytes %j are no UTF-8 from %i", (bytes, offset) => {
    expect(failure(() => parseJson(Uint8Array.from(bytes))).message).toBe(
      `failed to parse the request JSON buffer: Invalid encoding in string. at ${String(offset)}`,
    );
  });

  it("counts the bytes of a byte order mark and otherwise skips it", () => {
    expect(parseJson(new TextEncoder().encode("\ufeff[1]"))).toEqual([1]);
    expect(failure(() => parseJson(new TextEncoder().encode("\ufeff[1"))).message).toContain(" at 5");
  });
});

describe("parseJson, values", () => {
  it.each<[string, unknown]>([
    ["null", null],
    [" true ", true],
    ["[]", []],
    ["{}", {}],
    ['{"a":{"b":[1,-2,"x"]}}', { a: { b: [1, -2, "x"] } }],
    ["NaN", NaN],
    ["-NaN", NaN],
    ["[Inf,-Inf,Infinity,-Infinity]", [Infinity, -Infinity, Infinity, -Infinity]],
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9223372036854775808", -9223372036854775808n],
    ["18446744073709551615", 18446744073709551615n],
    ["18446744073709551616", 18446744073709551616],
    ["-9223372036854775809", -9223372036854775808],
    ["1.0", 1],
    ["1e2", 100],
    ['"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\ud83d\\ude00"', '"\\/\b\f\n\r\tä\u{1f600}'],
    ['{"a":1,"a":2}', { a: 1 }],
    ["1\u0000 anything", 1],
  ])("%s", (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  it("takes __proto__ for a name like any other", () => {
    const value = parseJson('{"__proto__":{"x":1}}');
    expect(Object.keys(value as object)).toEqual(["__proto__"]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it("tells integer literals from floating-point ones", () => {
    expect(readJson("1.0")).toEqual(new JsonFloat(1));
    expect(readJson("18446744073709551616")).toEqual(new JsonFloat(2 ** 64));
    expect(readJson("1")).toBe(1);
  });

  it("limits nesting", () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    expect(() => parseJson(nested(103))).not.toThrow();
    const error = failure(() => parseJson(nested(104)));
    expect(error.code).toBe("INVALID_ARG");
    expect(error.message).toBe("JSON nesting depth exceeds maximum allowed limit (100)");
    const numbers = "[".repeat(104) + "1,".repeat(100) + "1" + "]".repeat(104);
    expect(failure(() => parseJson(numbers)).message).toBe(error.message);
    expect(failure(() => parseJson("[".repeat(1_000_000))).message).toBe(error.message);
  });
});

/** The same tree with every `NumberArray` opened. */
function opened(node: JsonNode): unknown {
  if (isArrayNode(node)) return elementsOf(node).map(opened);
  if (!(node instanceof Map)) return node;
  return Array.from(node as ReadonlyMap<string, JsonNode>, ([key, value]) => [key, opened(value)]);
}

describe("long arrays of numbers", () => {
  const long = (element: string): string => `[${Array.from({ length: 60 }, () => element).join(", ")}]`;

  it.each([
    ["1", "integers"],
    ["0.5", "mixed"],
    ["1e3", "mixed"],
    ["1E3", "mixed"],
    ["[1,2]", "integers"],
  ])("%s goes through the engine as %s", (element, literals) => {
    const node = readJson(`{"data":${long(element)},"x":[1]}`);
    const data = node instanceof Map ? (node.get("data") as unknown) : undefined;
    expect(data).toBeInstanceOf(NumberArray);
    expect((data as NumberArray).content.literals).toBe(literals);
  });

  it.each(["NaN", "9007199254740993", "true", "null", "[1,NaN]"])("%s does not", (element) => {
    expect(readJson(long(element))).not.toBeInstanceOf(NumberArray);
    expect(parseJson(long(element))).toEqual(Array.from({ length: 60 }, () => parseJson(element)));
  });

  it("is as exact as without the engine", () => {
    const literal = fc.oneof(
      fc.integer().map(String),
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }).map(String),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(formatDouble),
      fc.constantFrom("1.0", "NaN", "-Inf", "0", "-1", "1e400", "true", '"]"', "{}", "[]", "[[1.5]]", ""),
    );
    const document = fc
      .array(fc.array(literal, { minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 6 })
      .map((arrays) => `{"a":[${arrays.map((array) => `[${array.join(",")}]`).join(",")}],"b":[1,2]}`);
    fc.assert(
      fc.property(document, (text) => {
        expect(outcome(() => opened(readJson(text)))).toEqual(outcome(() => opened(readExactly(text))));
      }),
      { seed: 1, numRuns: 500 },
    );
  });
});

function outcome(run: () => unknown): unknown {
  try {
    return run();
  } catch (thrown) {
    // `readExactly` shifts the offset.
    return InferenceError.from(thrown).message.replace(/ at \d+$/, "");
  }
}

/** Reads an object's text as an array's only element, without the engine. */
function readExactly(text: string): JsonNode {
  const [value = null] = readExactArray(`[${text}]`);
  return value;
}

describe("stringifyJson", () => {
  it.each<[JsonValue, string]>([
    [null, "null"],
    [[1, -0, 1.5, 1e21, 1e-7, 18446744073709551615n], "[1,0,1.5,1e21,1e-7,18446744073709551615]"],
    [[NaN, Infinity, -Infinity], "[NaN,Infinity,-Infinity]"],
    [{ a: 'x\n"', b: { c: [] } }, '{"a":"x\\n\\"","b":{"c":[]}}'],
  ])("writes case %#", (value, text) => {
    expect(stringifyJson(value)).toBe(text);
    expect(encodeJson(value)).toEqual(new TextEncoder().encode(text));
  });

  it("reads back as it was", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = stringifyJson(JSON.parse(JSON.stringify(value)) as JsonValue);
        expect(stringifyJson(parseJson(text))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { seed: 2 },
    );
  });
});

describe("formatDouble", () => {
  it.each([
    [0, "0.0"],
    [-0, "-0.0"],
    [1, "1.0"],
    [-3, "-3.0"],
    [Math.fround(0.1), "0.10000000149011612"],
    [1e20, "100000000000000000000.0"],
    [1e21, "1e21"],
    [1.5e300, "1.5e300"],
    [1e-7, "1e-7"],
    [0.000001, "0.000001"],
    [NaN, "NaN"],
    [Infinity, "Infinity"],
    [-Infinity, "-Infinity"],
  ])("%d is %s", (value, text) => {
    expect(formatDouble(value)).toBe(text);
  });
});

describe("integers of JSON", () => {
  it("knows the ranges of 64 bits", () => {
    expect(asInteger(2n ** 63n - 1n)).toBe(2n ** 63n - 1n);
    expect(() => asInteger(2n ** 63n)).toThrow("attempt to access JSON non-signed-integer as signed-integer");
    expect(asUnsigned(2n ** 64n - 1n)).toBe(2n ** 64n - 1n);
    expect(() => asUnsigned(-1)).toThrow("attempt to access JSON non-unsigned-integer as unsigned-integer");
    expect(() => asInteger(new JsonFloat(1))).toThrow(InferenceError);
  });
});
