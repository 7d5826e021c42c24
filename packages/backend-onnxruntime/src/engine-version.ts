/** The release of onnxruntime-web that this package is built with, known without loading it. */
export const ENGINE_VERSION: string = "1.30.0";

/** The newest version of ONNX's own operators that this release reads; it refuses models of newer ones. */
export const HIGHEST_OPSET: number = 26;
