import { completeBackend, parseConfigText } from "@naiad/model-config";
import { createFakeBackend, createFakeClock, createServerBench } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { findBackend } from "./find-backend.ts";

const onnxruntime = createFakeBackend({ clock: createFakeClock(), name: "onnxruntime" });

function find(config: string, files: readonly string[] = ["1/m"]): unknown {
  const written = parseConfigText(config, { fileName: "config.pbtxt" });
  const directory = { name: "m", directories: ["1"], filePaths: files };
  return findBackend(completeBackend(written, directory), [onnxruntime]);
}

describe("findBackend", () => {
  it.each([
    ["", ["1/model.onnx"]],
    ['platform: "onnxruntime_onnx"', ["1/m"]],
    ['backend: "onnxruntime"', ["1/m"]],
  ])("finds the one for %j with %j", (config, files) => {
    expect(find(config, files)).toBe(onnxruntime);
  });

  it.each([
    ['platform: "tensorrt_plan"', "tensorrt", "use the ONNX model that it was built from"],
    ['platform: "tensorflow_graphdef"', "tensorflow", "convert the model to ONNX with tf2onnx"],
    ['platform: "tensorflow_savedmodel"', "tensorflow", "convert the model to ONNX with tf2onnx"],
    ['platform: "pytorch_libtorch"', "pytorch", "export the model with torch.onnx.export"],
    ['platform: "torch_aoti"', "pytorch", "export the model with torch.onnx.export"],
    ['backend: "pytorch"', "pytorch", "export the model with torch.onnx.export"],
    ['backend: "torch_aoti"', "torch_aoti", "export the model with torch.onnx.export"],
    ['backend: "openvino"', "openvino", "use the ONNX model that it was converted from"],
    ['backend: "dali"', "dali", "do the preprocessing in the page or in an ONNX model"],
    ['backend: "python"', "python", "write the model in JavaScript (model.js)"],
    ['backend: "vllm"', "vllm", "needs a native GPU runtime"],
    ['backend: "tensorrtllm"', "tensorrtllm", "cannot run in a browser"],
    ['backend: "fil"', "fil", "convert the trees to ONNX"],
    ['backend: "armnn_tflite"', "armnn_tflite", "convert them with tf2onnx"],
    ['backend: "paddle"', "paddle", "convert them with paddle2onnx"],
    ['backend: "my_own"', "my_own", "this server has 'onnxruntime'"],
  ])("refuses %s with what to do instead", (config, backend, advice) => {
    expect(() => find(config)).toThrow(
      `unable to find backend library for backend '${backend}', try specifying runtime on the model configuration. ` +
        "In a browser: ",
    );
    expect(() => find(config)).toThrow(advice);
  });

  it.each([
    ["1/model.plan", "tensorrt"],
    ["1/model.pt", "pytorch"],
    ["1/model.pt2", "pytorch"],
    ["1/model.xml", "openvino"],
    ["1/model.py", "python"],
    ["1/model.graphdef", "tensorflow"],
  ])("knows what %s is although there is no configuration", (file, backend) => {
    expect(() => find("", [file])).toThrow(`for backend '${backend}'`);
  });
});

describe("a configuration that leaves its backend open", () => {
  it.each([
    [
      'default_model_filename: "net.onnx"',
      "unexpected platform type '' for m (default_model_filename 'net.onnx' does not tell the backend, as 'model.onnx' does; " +
        'add backend: "onnxruntime" for an ONNX model)',
    ],
    [
      'platform: "onnx"',
      "unexpected platform type 'onnx' for m (no backend has the platform 'onnx'; an ONNX model has " +
        'backend: "onnxruntime")',
    ],
    [
      'backend: "tensorflow"',
      "unexpected 'platform' and 'backend' pair, got:, tensorflow (TensorFlow models cannot run in a browser as they are; " +
        "convert the model to ONNX with tf2onnx)",
    ],
  ])("fails with Triton's text and what to do: %s", async (config, text) => {
    const bench = createServerBench({ models: { m: { "config.pbtxt": config, "1/net.onnx": "" } } });
    await bench.start();
    await expect(bench.load("m")).rejects.toThrow(
      `failed to load 'm', failed to poll from model repository: ${text}`,
    );
  });
});
