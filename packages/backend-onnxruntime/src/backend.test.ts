import type { ModelFiles, ModelSpec } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import { DataType, parseConfigText } from "@naiad/model-config";
import { describe, expect, it } from "vitest";
import {
  ElementType,
  fixtureModels,
  identityModel,
  node,
  onnxModel,
  value,
} from "@naiad/testing/fixture-models";
import { prepareOnnx } from "./backend.ts";

function specOf(config: string, contents: Readonly<Record<string, Uint8Array>>, version = 1): ModelSpec {
  const files: ModelFiles = {
    entries: Object.entries(contents).map(([path, { byteLength }]) => ({
      path,
      size: byteLength,
      sha256: "",
      chunks: [],
    })),
    location: { kind: "memory" },
    read: (path, range) => {
      const content = contents[path];
      if (content === undefined) return Promise.reject(new InferenceError("NOT_FOUND", path));
      return Promise.resolve(content.slice(range?.start, range?.end));
    },
  };
  return {
    modelName: "m",
    version,
    config: parseConfigText(`name: "m" ${config}`, { fileName: "config.pbtxt" }),
    files,
  };
}

function prepare(spec: ModelSpec, autoComplete = true): ReturnType<typeof prepareOnnx> {
  return prepareOnnx(spec, { autoComplete, signal: new AbortController().signal });
}

function one(model: Uint8Array): Readonly<Record<string, Uint8Array>> {
  return { "1/model.onnx": model };
}

describe("prepareOnnx", () => {
  it("accepts every fixture as it is", async () => {
    const seen: string[] = [];
    for (const { name, files } of fixtureModels()) {
      const { "config.pbtxt": config } = files;
      if (typeof config !== "string") continue;
      const contents = Object.entries(files).filter(
        (entry): entry is [string, Uint8Array] => typeof entry[1] !== "string",
      );
      const spec = specOf("", Object.fromEntries(contents));
      const prepared = await prepare({
        ...spec,
        config: parseConfigText(config, { fileName: "config.pbtxt" }),
      });
      expect(prepared).toEqual(parseConfigText(config, { fileName: "config.pbtxt" }));
      seen.push(name);
    }
    expect(seen).toHaveLength(fixtureModels().length - 1);
  });

  it("completes a model without a configuration", async () => {
    const files = fixtureModels().find(({ name }) => name === "add_sub_float")?.files ?? {};
    const model = files["1/model.onnx"];
    if (!(model instanceof Uint8Array)) throw new Error("no model");
    const config = await prepare(specOf("", one(model)));
    expect(config.maxBatchSize).toBe(4);
    expect(config.schedulingChoice.case).toBe("dynamicBatching");
    expect(config.input.map(({ name, dims }) => [name, dims])).toEqual([
      ["INPUT0", [16n]],
      ["INPUT1", [16n]],
    ]);
    expect(config.output[0]?.dataType).toBe(DataType.TYPE_FP32);
  });

  it("refuses operators that the engine does not know", async () => {
    const model = identityModel(ElementType.FLOAT, ["batch", 2]).slice();
    const at = model.findIndex((_, index) =>
      [0x42, 4, 0x0a, 0, 0x10].every((byte, n) => model[index + n] === byte),
    );
    model[at + 5] = 99;
    await expect(prepare(specOf("", one(model)))).rejects.toThrow("the operators of ONNX opset 99");
  });

  it("completes nothing where that is switched off", async () => {
    const spec = specOf("", one(identityModel(ElementType.FLOAT, ["batch", 2])));
    await expect(prepare(spec, false)).rejects.toThrow("configuration expects 0 inputs, model provides 1");
  });

  it("takes the server's default batch size", async () => {
    const spec = specOf("", one(identityModel(ElementType.FLOAT, ["batch", 2])));
    const { signal } = new AbortController();
    const config = await prepareOnnx(spec, { autoComplete: true, signal, defaultMaxBatchSize: 32 });
    expect(config.maxBatchSize).toBe(32);
  });

  it("believes the configuration where the file leaves an output's size open", async () => {
    const model = onnxModel({
      name: "g",
      input: [value("X", ElementType.FLOAT, ["batch", 2])],
      output: [value("Y", ElementType.FLOAT, ["batch", null])],
      node: [node("Identity", ["X"], ["Y"])],
    });
    const config = `max_batch_size: 2 input { name: "X" data_type: TYPE_FP32 dims: 2 }
      output { name: "Y" data_type: TYPE_FP32 dims: 2 }`;
    await expect(prepare(specOf(config, one(model)))).resolves.toMatchObject({ maxBatchSize: 2 });
  });

  it("refuses to guess the rank of an output", async () => {
    const model = onnxModel({
      name: "g",
      input: [value("X", ElementType.FLOAT, ["batch", 2])],
      output: [
        { name: "Y", type: { value: { case: "tensorType", value: { elemType: ElementType.FLOAT } } } },
      ],
      node: [node("Identity", ["X"], ["Y"])],
    });
    await expect(prepare(specOf("", one(model)))).rejects.toThrow(
      "autofill failed for model 'm': the model's file gives no shape for output 'Y'",
    );
    const config = `max_batch_size: 2 input { name: "X" data_type: TYPE_FP32 dims: 2 }
      output { name: "Y" data_type: TYPE_FP32 dims: 2 }`;
    await expect(prepare(specOf(config, one(model)))).resolves.toMatchObject({ name: "m" });
  });

  it("refuses bfloat16", async () => {
    const spec = specOf("", one(identityModel(ElementType.BFLOAT16, ["batch", 2])));
    await expect(prepare(spec)).rejects.toMatchObject({
      code: "INVALID_ARG",
      message:
        "unsupported datatype TYPE_BF16 for input 'INPUT0' for model 'm': ONNX Runtime Web has no such tensors",
    });
  });

  it("takes ragged batches, with batch inputs that the model has", async () => {
    const { "config.pbtxt": config, "1/model.onnx": model } =
      fixtureModels().find(({ name }) => name === "ragged_sum")?.files ?? {};
    if (typeof config !== "string" || !(model instanceof Uint8Array)) throw new Error("no model");
    const prepareWith = (text: string): ReturnType<typeof prepareOnnx> =>
      prepare({ ...specOf("", one(model)), config: parseConfigText(text, { fileName: "config.pbtxt" }) });
    const { batchInput } = await prepareWith(config);
    expect(batchInput.map(({ targetName }) => targetName)).toEqual([["ENDS"]]);
    await expect(prepareWith(config.replace("ENDS", "LENGTHS"))).rejects.toThrow(
      "unexpected inference input 'LENGTHS', allowed inputs are: ENDS, ITEMS",
    );
    await expect(prepareWith(config.replace("TYPE_INT32", "TYPE_FP32"))).rejects.toThrow(
      "unable to load model 'ragged_sum', configuration expects datatype TYPE_FP32 for input 'ENDS', " +
        "model provides TYPE_INT32",
    );
  });

  it("misses weights before any worker is started", async () => {
    const files = fixtureModels().find(({ name }) => name === "external_data")?.files ?? {};
    const model = files["1/model.onnx"];
    if (!(model instanceof Uint8Array)) throw new Error("no model");
    await expect(prepare(specOf("", one(model)))).rejects.toThrow("unable to find '1/weights.bin'");
  });

  it("stops reading when it is told to", async () => {
    const spec = specOf("", one(identityModel(ElementType.FLOAT, ["batch", 2])));
    const reason = new InferenceError("CANCELLED", "unloaded meanwhile");
    const signal = AbortSignal.abort(reason);
    await expect(prepareOnnx(spec, { autoComplete: true, signal })).rejects.toBe(reason);
  });
});
