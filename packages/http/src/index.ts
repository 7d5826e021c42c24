export { createHttpHandler } from "./http-handler.ts";
export type { Decompress, HttpOptions } from "./http-options.ts";
