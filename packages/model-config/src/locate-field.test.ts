import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { locateField } from "./locate-field.ts";

const TEXT = `# a model
name: "m"
input [
  { name: "A" dims: [ 1, 2 ] },
  { name: "B" dims: [ 3 ] }
]
input < name: "C" dims: -1 dims: 2 reshape { shape: [] } >
parameters { key: "input" value { string_value: "name" } }
dynamic_batching { preferred_batch_size: 4 preferred_batch_size: 8; }
output { name: "x" 'y' dims: 1 }
`;

function at(path: string, text = TEXT): string | undefined {
  const position = locateField(text, path);
  return position === undefined ? undefined : `${String(position.line)}:${String(position.column)}`;
}

describe("locateField", () => {
  it("finds fields, elements of lists and what is in them", () => {
    expect(at("name")).toBe("2:1");
    expect(at("input")).toBe("3:1");
    expect(at("input[0]")).toBe("4:3");
    expect(at("input[1].dims")).toBe("5:15");
    expect(at("input[1].dims[0]")).toBe("5:23");
    expect(at("input[2]")).toBe("7:7");
    expect(at("input[2].dims[1]")).toBe("7:34");
    expect(at("input[2].reshape.shape")).toBe("7:46");
    expect(at("dynamic_batching.preferred_batch_size[1]")).toBe("9:66");
    expect(at("output[0].dims")).toBe("10:24");
  });

  it("tells the place around what is not written", () => {
    expect(at("input[0].data_type")).toBe("4:3");
    expect(at("input[7].dims")).toBe("3:1");
    expect(at("dynamic_batching.default_queue_policy")).toBe("9:1");
    expect(at("version_policy")).toBeUndefined();
    expect(at("")).toBeUndefined();
    expect(at("name", "")).toBeUndefined();
  });

  it("reads JSON too", () => {
    const json = `{ "name": "m",\n "maxBatchSize": 8,\n "input": [ { "name": "A" },\n { "data_type": "TYPE_FP32" } ] }`;
    expect(at("max_batch_size", json)).toBe("2:2");
    expect(at("input[1].data_type", json)).toBe("4:4");
  });

  it("ends on any text", () => {
    const token = fc.constantFrom(..."{ } [ ] < > : , ; - name input 1 'a' \"b $ \n".split(" "));
    fc.assert(
      fc.property(fc.array(token, { maxLength: 30 }), (tokens) => {
        const text = tokens.join(" ");
        const place = locateField(text, "input[1].name");
        if (place === undefined) return;
        const line = text.split("\n")[place.line - 1];
        // A value that is missing is at the end.
        expect(line === undefined ? 0 : line.length + 1).toBeGreaterThanOrEqual(place.column);
      }),
      { seed: 2026, numRuns: 2000 },
    );
  });
});
