/** Names that Triton gives its backends, platforms and model files. */
export const TENSORFLOW = {
  backend: "tensorflow",
  savedModel: { platform: "tensorflow_savedmodel", fileName: "model.savedmodel" },
  graphDef: { platform: "tensorflow_graphdef", fileName: "model.graphdef" },
} as const;
export const TENSORRT = { backend: "tensorrt", platform: "tensorrt_plan", fileName: "model.plan" } as const;
export const ONNXRUNTIME = {
  backend: "onnxruntime",
  platform: "onnxruntime_onnx",
  fileName: "model.onnx",
} as const;
export const OPENVINO = { backend: "openvino", fileName: "model.xml" } as const;
export const PYTORCH = {
  backend: "pytorch",
  torchScript: { platform: "pytorch_libtorch", fileName: "model.pt" },
  aotInductor: { platform: "torch_aoti", fileName: "model.pt2" },
} as const;
/** An older name of the TorchScript platform: it selects the backend, and validation then refuses it. */
export const LIBTORCH_PLATFORM = "libtorch";
export const PYTHON = { backend: "python", fileName: "model.py" } as const;
/** Beyond Triton. */
export const JAVASCRIPT = { backend: "javascript", fileName: "model.js" } as const;
export const ENSEMBLE_PLATFORM = "ensemble";

/**
 * Backends that have a platform of their own, which then must be given with them. (Triton 2.73 fills in `pytorch` for
 * `torch_aoti` and then refuses the pair; here it is one.)
 */
const PLATFORMS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  [TENSORFLOW.backend, [TENSORFLOW.graphDef.platform, TENSORFLOW.savedModel.platform]],
  [TENSORRT.backend, [TENSORRT.platform]],
  [ONNXRUNTIME.backend, [ONNXRUNTIME.platform]],
  [PYTORCH.backend, [PYTORCH.torchScript.platform, PYTORCH.aotInductor.platform]],
]);

/** A backend without a platform of its own accepts any text. */
export function isPlatformOfBackend(platform: string, backend: string): boolean {
  return PLATFORMS.get(backend)?.includes(platform) ?? true;
}
