export { createHttpHandler } from "./http-handler.ts";
export type { CorsOptions } from "./cors.ts";
export type { Compress, Decompress, HttpOptions } from "./http-options.ts";
