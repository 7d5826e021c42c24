/** The release of onnxruntime-web that this package is built with, known without loading it. */
export const ENGINE_VERSION: string = "1.30.0";
