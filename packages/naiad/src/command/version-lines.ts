import { ENGINE_VERSION, HIGHEST_OPSET } from "@naiad/backend-onnxruntime";
import { NAIAD_VERSION, TRITON_VERSION } from "@naiad/runtime/version";

/** What `naiad --version` prints: ours on a line of its own, then what it stands for. */
export function versionLines(): readonly string[] {
  return [
    NAIAD_VERSION,
    `Triton ${TRITON_VERSION}`,
    `onnxruntime-web ${ENGINE_VERSION}`,
    `ONNX opset ${HIGHEST_OPSET} and below`,
  ];
}
