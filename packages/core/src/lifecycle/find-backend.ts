import type { ModelConfig } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import type { Backend } from "../ports.ts";

const ONNX_BACKEND = 'backend: "onnxruntime"';

/** What to do instead, for backends of Triton that run native code. */
const ADVICE: ReadonlyMap<string, string> = new Map([
  [
    "tensorrt",
    "a TensorRT plan is made for one kind of NVIDIA GPU and cannot run in a browser; use the ONNX model that it was built from",
  ],
  [
    "pytorch",
    "TorchScript and AOTInductor need PyTorch, which no browser has; export the model with torch.onnx.export",
  ],
  [
    "tensorflow",
    "TensorFlow models cannot run in a browser as they are; convert the model to ONNX with tf2onnx",
  ],
  [
    "openvino",
    "OpenVINO models cannot run in a browser as they are; use the ONNX model that it was converted from",
  ],
  ["dali", "DALI pipelines need CUDA; do the preprocessing in the page or in an ONNX model"],
  ["tensorrtllm", "TensorRT engines are made for one kind of NVIDIA GPU and cannot run in a browser"],
  ["torch_aoti", "AOTInductor needs PyTorch, which no browser has; export the model with torch.onnx.export"],
  [
    "python",
    "Python models are not served yet; write the model in JavaScript (model.js), with the same interface",
  ],
  [
    "fil",
    "the forest inference library needs CUDA; convert the trees to ONNX with onnxmltools or Hummingbird",
  ],
  ["armnn_tflite", "TensorFlow Lite models cannot run in a browser as they are; convert them with tf2onnx"],
  ["paddle", "PaddlePaddle models cannot run in a browser as they are; convert them with paddle2onnx"],
  ["vllm", "vLLM needs a native GPU runtime and cannot run in a browser"],
]);

/**
 * What to do where a configuration leaves open which backend it wants, or names a backend of several platforms without one;
 * for the end of Triton's text.
 */
export function platformHint({ backend, platform, defaultModelFilename }: ModelConfig): string | undefined {
  if (backend !== "") return ADVICE.get(backend);
  if (platform !== "") return `no backend has the platform '${platform}'; an ONNX model has ${ONNX_BACKEND}`;
  const name = `default_model_filename '${defaultModelFilename}'`;
  return `${name} does not tell the backend, as 'model.onnx' does; add ${ONNX_BACKEND} for an ONNX model`;
}

/** The backend that a completed configuration names. INVALID_ARG with Triton's text, and advice behind it. */
export function findBackend<Named extends Pick<Backend, "name">>(
  config: ModelConfig,
  backends: readonly Named[],
): Named {
  const found = backends.find(({ name }) => name === config.backend);
  if (found !== undefined) return found;
  const present = backends.map(({ name }) => `'${name}'`).join(", ");
  const advice = ADVICE.get(config.backend) ?? `this server has ${present === "" ? "no backend" : present}`;
  throw new InferenceError(
    "INVALID_ARG",
    `unable to find backend library for backend '${config.backend}', try specifying runtime on the model ` +
      `configuration. In a browser: ${advice}`,
  );
}
