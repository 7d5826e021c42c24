import { parseConfigText } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { ModelFiles } from "../../ports.ts";
import { readInitialStates } from "./read-initial-states.ts";

const CONTENT: Readonly<Record<string, Uint8Array>> = {
  "initial_state/five": Uint8Array.of(1, 2, 3, 4, 5),
  "initial_state/text": Uint8Array.of(1, 0, 0, 0, 65),
};

const FILES: ModelFiles = {
  entries: Object.entries(CONTENT).map(([path, { length }]) => ({
    path,
    size: length,
    sha256: path,
    chunks: [],
  })),
  location: { kind: "memory" },
  read: (path) => Promise.resolve(CONTENT[path] ?? new Uint8Array()),
};

async function initial(state: string, maxBatchSize = 4): Promise<string> {
  const text = `name: "m" max_batch_size: ${maxBatchSize}
    sequence_batching { state { input_name: "s" output_name: "t" ${state} } }`;
  try {
    const [made] = await readInitialStates(parseConfigText(text, { fileName: "config.pbtxt" }), FILES);
    const tensor = made?.initial;
    if (tensor?.kind !== "bytes") return "none";
    return `${tensor.name} ${tensor.datatype}[${tensor.shape.join()}] ${[...tensor.bytes].join()}`;
  } catch (thrown) {
    const { code, message } = InferenceError.from(thrown);
    return `${code} ${message}`;
  }
}

const from = (type: string, dims: string, source: string): string =>
  `data_type: TYPE_${type} dims: [${dims}] initial_state { name: "i" data_type: TYPE_${type} dims: [${dims}] ${source} }`;

describe("readInitialStates", () => {
  it.each([
    ["zeros without initial_state", "data_type: TYPE_INT16 dims: [2]", "s INT16[1,2] 0,0,0,0"],
    ["sizes of 1 for variable ones", "data_type: TYPE_INT8 dims: [-1, 3]", "s INT8[1,1,3] 0,0,0"],
    ["zero_data", from("UINT8", "2", "zero_data: true"), "s UINT8[1,2] 0,0"],
    ["texts that are empty", from("STRING", "2", "zero_data: true"), "s BYTES[1,2] 0,0,0,0,0,0,0,0"],
    ["a file", from("UINT8", "5", 'data_file: "five"'), "s UINT8[1,5] 1,2,3,4,5"],
    ["the beginning of a file", from("UINT8", "2", 'data_file: "five"'), "s UINT8[1,2] 1,2"],
    ["a file of texts", from("STRING", "1", 'data_file: "text"'), "s BYTES[1,1] 1,0,0,0,65"],
    [
      "sizes of the initial state for variable ones",
      'data_type: TYPE_UINT8 dims: [-1] initial_state { name: "i" data_type: TYPE_UINT8 dims: [5] data_file: "five" }',
      "s UINT8[1,5] 1,2,3,4,5",
    ],
    [
      "an error where the file is too short",
      from("UINT8", "6", 'data_file: "five"'),
      "INVALID_ARG initial_state setting expects 6 bytes, but the data provided from fiveonly has 5 bytes.",
    ],
    [
      "an error where there is no file",
      from("UINT8", "6", 'data_file: "none"'),
      "INTERNAL failed to open text file for read m/initial_state/none: No such file or directory",
    ],
    [
      "an error where the path leads elsewhere",
      from("UINT8", "1", 'data_file: "../1/model.onnx"'),
      "INTERNAL failed to open text file for read m/initial_state/../1/model.onnx: No such file or directory",
    ],
  ])("gives %s", async (_name, state, expected) => {
    expect(await initial(state)).toBe(expected);
  });

  it("leaves the batch dimension out where the model has none", async () => {
    expect(await initial("data_type: TYPE_INT8 dims: [2]", 0)).toBe("s INT8[2] 0,0");
  });

  it("gives none for a model without sequences", async () => {
    const config = parseConfigText('name: "m"', { fileName: "config.pbtxt" });
    expect(await readInitialStates(config, FILES)).toEqual([]);
  });
});
