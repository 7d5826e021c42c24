export { createHttpHandler } from "./http-handler.ts";
export type { Decompress, HttpOptions, LabelSource } from "./http-options.ts";
