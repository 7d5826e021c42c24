export { createHttpHandler } from "./http-handler.ts";
export type { CorsOptions } from "./cors.ts";
export type { HttpOptions } from "./http-options.ts";
