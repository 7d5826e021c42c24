import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { equals } from "@bufbuild/protobuf";
import { ModelConfigSchema } from "./gen/model_config_pb.ts";
import { findConfigFaults, parseConfigText, printConfigText, readConfigText } from "./text.ts";
import { findTextFaults } from "./text-position.ts";

describe("readConfigText", () => {
  it.each([
    ["an empty text", "", {}],
    ["a byte-order mark", '\uFEFFname: "m"', { name: "m" }],
    ["comments", 'name: "m" # "x"\n#\n', { name: "m" }],
    [
      "separators",
      'name: "a", platform: "b"; max_batch_size: 1,',
      { name: "a", platform: "b", maxBatchSize: 1 },
    ],
    ["both quotes and adjacent strings", `name: 'a"' "b'"\n'c'`, { name: `a"b'c` }],
    ["escapes", String.raw`name: "\x41\102\u0043\U00000044\t\"\'\?\\"`, { name: "ABCD\t\"'?\\" }],
    ["bytes that are UTF-8 only together", String.raw`name: "\xc3" "\xa4"`, { name: "ä" }],
    ["hexadecimal and octal integers", "max_batch_size: 0x1F", { maxBatchSize: 31 }],
    ["octal integers", "max_batch_size: 017", { maxBatchSize: 15 }],
    ["a sign apart from its number", "max_batch_size: - 4", { maxBatchSize: -4 }],
  ])("accepts %s", (_what, text, expected) => {
    expect(readConfigText(text)).toMatchObject({ kind: "config", config: expected });
  });

  it("accepts both brackets and an optional colon for messages", () => {
    const texts = [
      "input { name: 'x' }",
      "input: { name: 'x' }",
      "input < name: 'x' >",
      "input [ { name: 'x' } ]",
    ];
    for (const text of texts) {
      expect(readConfigText(text)).toMatchObject({ kind: "config", config: { input: [{ name: "x" }] } });
    }
  });

  it("accumulates repeated fields in both forms, and takes an empty list", () => {
    const text = "input { dims: [ 1, 2 ] dims: 3 dims: [] }";
    expect(readConfigText(text)).toMatchObject({ config: { input: [{ dims: [1n, 2n, 3n] }] } });
  });

  it("lets the last entry of a map win", () => {
    const text = "metric_tags { key: 'a' value: '1' } metric_tags [ { key: 'a', value: '2' }, { key: 'b' } ]";
    expect(readConfigText(text)).toMatchObject({ config: { metricTags: { a: "2", b: "" } } });
  });

  it("takes floats and bools in all their forms", () => {
    const direct = (value: string): string =>
      `sequence_batching { direct { minimum_slot_utilization: ${value} } iterative_sequence: t }`;
    for (const [text, number] of [
      ["1", 1],
      [".5f", 0.5],
      ["1.", 1],
      ["25e-2F", 0.25],
      ["inf", Infinity],
      ["-Infinity", -Infinity],
    ] as const) {
      expect(readConfigText(direct(text))).toMatchObject({
        config: {
          schedulingChoice: {
            value: { iterativeSequence: true, strategyChoice: { value: { minimumSlotUtilization: number } } },
          },
        },
      });
    }
  });

  it("takes enums by name and by number", () => {
    const text = "input { data_type: 11 format: FORMAT_NCHW }";
    expect(readConfigText(text)).toMatchObject({ config: { input: [{ dataType: 11, format: 2 }] } });
  });
});

describe("where a text is wrong", () => {
  const cases: readonly (readonly [
    what: string,
    text: string,
    line: number,
    column: number,
    reason: string,
  ])[] = [
    ["unknown field", 'name: "m"\n  nam: 1', 2, 3, 'message ModelConfig has no field "nam"'],
    ["unknown nested field", "input {\n\tdim: 1\n}", 2, 2, 'message ModelInput has no field "dim"'],
    ["wrong type", "max_batch_size: '8'", 1, 17, "expected an integer, found a string"],
    ["decimal point in an integer", "max_batch_size: 8.0", 1, 17, 'expected an integer, found "8.0"'],
    ["name for a string", "name: m", 1, 7, 'expected a string, found "m"'],
    ["too large", "max_batch_size: 2147483648", 1, 17, "2147483648 does not fit into a 32-bit integer"],
    [
      "negative",
      "model_warmup { batch_size: -1 }",
      1,
      28,
      "a negative number does not fit into an unsigned 32-bit integer",
    ],
    ["bad enum", "input { data_type: TYPE_FP23 }", 1, 20, '"TYPE_FP23" is not a value of DataType'],
    ["bad bool", "response_cache { enable: yes }", 1, 26, 'expected true or false, found "yes"'],
    [
      "hexadecimal float",
      "sequence_batching { direct { minimum_slot_utilization: 0x1 } }",
      1,
      56,
      'expected a decimal number, found "0x1"',
    ],
    [
      "repeated scalar",
      'name: "a"\nname: "b"',
      2,
      1,
      'non-repeated field "name" is specified multiple times',
    ],
    [
      "repeated message",
      "optimization {}\noptimization {}",
      2,
      1,
      'non-repeated field "optimization" is specified multiple times',
    ],
    [
      "oneof sibling",
      "dynamic_batching {}\nsequence_batching {}",
      2,
      1,
      'field "sequence_batching" is specified along with field "dynamic_batching", another member of oneof "scheduling_choice"',
    ],
    ["missing colon", 'name "m"', 1, 6, 'expected ":" after "name", found a string'],
    ["missing value", "name:\n", 2, 1, "expected a string, found the end of the file"],
    ["trailing comma in a list", "input { dims: [1, 2,] }", 1, 21, 'expected an integer, found "]"'],
    ["semicolon in a list", "input { dims: [1; 2] }", 1, 17, 'expected "," or "]", found ";"'],
    ["list for a scalar", "name: ['m']", 1, 7, 'expected a string, found "["'],
    ["doubled separator", 'name: "m",, platform: ""', 1, 11, 'expected a field name, found ","'],
    [
      "open message",
      "name: 'm'\ninput {\n name: 'x'\n",
      4,
      1,
      'expected "}" to close the "{" of line 2, found the end of the file',
    ],
    ["wrong closing bracket", "input < name: 'x' }", 1, 19, 'expected a field name, found "}"'],
    ["extra closing bracket", "}", 1, 1, 'expected a field name, found "}"'],
    ["scalar for a message", "input: 1", 1, 8, 'expected "{", found "1"'],
    ["map entry", "metric_tags { kay: 'a' }", 1, 15, 'expected "key" or "value", found "kay"'],
    [
      "doubled map key",
      "metric_tags { key: 'a' key: 'b' }",
      1,
      24,
      'non-repeated field "key" is specified multiple times',
    ],
    ["map value", "parameters { key: 'a' value: 'b' }", 1, 30, 'expected "{", found a string'],
    ["open string", "name: 'm\nplatform: 'x'", 1, 7, "string has no closing ' on its line"],
    ["bad escape", String.raw`name: "a\q"`, 1, 9, "malformed escape sequence in string"],
    ["surrogate", String.raw`name: "\ud800"`, 1, 8, "malformed escape sequence in string"],
    ["no UTF-8", String.raw`name: "\xff"`, 1, 7, "string is not valid UTF-8"],
    ["malformed number", "max_batch_size: 08", 1, 17, 'malformed number "08"'],
    ["number with a unit", "max_batch_size: 8k", 1, 17, 'malformed number "8k"'],
    ["stray character", "name: 'm' $", 1, 11, 'unexpected "$"'],
    ["control character", "name: 'm' \u0007", 1, 11, "unexpected character U+0007"],
    ["extension", "[a.b]: 1", 1, 1, 'expected a field name, found "["'],
  ];

  it.each(cases)("%s", (_what, text, line, column, reason) => {
    expect(readConfigText(text)).toMatchObject({ kind: "fault", fault: { line, column, reason } });
  });

  it("stands behind Triton's text", () => {
    expect(() => parseConfigText("\n  nam: 1", { fileName: "m/config.pbtxt" })).toThrow(
      'failed to read text proto from m/config.pbtxt:2:3: message ModelConfig has no field "nam"',
    );
  });

  it("is found exactly when the library refuses the text", () => {
    const token = fc.constantFrom(
      ..."{ } < > [ ] : , ; - # 'a' \"b\" 'c 1 -1 0x1 08 1.5 inf - -inf true t\n name input dims data_type TYPE_FP32".split(
        " ",
      ),
      ..."metric_tags key value reshape shape dynamic_batching sequence_batching max_batch_size optional".split(
        " ",
      ),
      'name: "m"',
      "input {",
      "dims: [",
      "metric_tags {",
      "\n",
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 24 }), (tokens) => {
        const text = tokens.join(" ");
        expect(findTextFaults(ModelConfigSchema, text).length === 0).toBe(
          readConfigText(text).kind === "config",
        );
      }),
      { seed: 2026, numRuns: 5000 },
    );
  });

  it("is told with what was probably meant", () => {
    const hintOf = (text: string) => findConfigFaults(text)[0]?.hint;
    expect(hintOf("max_batchsize: 8")).toBe('did you mean "max_batch_size"?');
    expect(hintOf("input { data_type: FP32 }")).toBe('did you mean "TYPE_FP32"?');
    expect(hintOf("instance_group { kind: KIND_GPUS }")).toBe('did you mean "KIND_GPU"?');
    expect(hintOf("instance_group { kind: gpu }")).toBe('did you mean "KIND_GPU"?');
    expect(hintOf("quantum: 1")).toBeUndefined();
    expect(() => parseConfigText("max_batchsize: 8", { fileName: "c" })).toThrow(
      'failed to read text proto from c:1:1: message ModelConfig has no field "max_batchsize" (did you mean "max_batch_size"?)',
    );
  });

  it("is found as often as there is one, up to one in the syntax", () => {
    const text = `
nam: "m"
max_batch_size: "8"
input [ { name: x data_type: FP32 dims: [1, 'a', { b: 1 }, 2] } ]
unknown { some: [1, <a: "}">] }
metric_tags { key: 1 value: 'a' }
metric_tags { key: 'b' key: 'c' }
name: "a" name: "b"
dynamic_batching {} sequence_batching {}
output { dims 1 }
platform: "x" platform: 3
`;
    const faults = findConfigFaults(text);
    expect(faults.map(({ line, column }) => [line, column])).toEqual([
      [2, 1],
      [3, 17],
      [4, 17],
      [4, 30],
      [4, 45],
      [4, 50],
      [5, 1],
      [6, 20],
      [7, 24],
      [8, 11],
      [9, 21],
      [10, 15],
    ]);
    expect(faults.at(-1)?.reason).toBe('expected ":" after "dims", found "1"');
    expect(
      findConfigFaults(text.replace("dims 1", "dims: 1"))
        .slice(-2)
        .map(({ reason }) => reason),
    ).toEqual(['non-repeated field "platform" is specified multiple times', 'expected a string, found "3"']);
    expect(findConfigFaults('name: "m"')).toEqual([]);
  });

  it("is found in a large text without exhausting the stack", () => {
    const text = `name: "${"x".repeat(300_000)}" "\\q"`;
    expect(readConfigText(text)).toMatchObject({ kind: "fault", fault: { line: 1 } });
  });
});

describe("printConfigText", () => {
  it("prints what reads back", () => {
    const config = parseConfigText(
      'name: "m" input { dims: [-1, 2] } parameters { key: "k" value { string_value: "v" } }',
      {
        fileName: "config.pbtxt",
      },
    );
    const again = parseConfigText(printConfigText(config), { fileName: "config.pbtxt" });
    expect(equals(ModelConfigSchema, again, config)).toBe(true);
  });
});
