export type { FileReader, ModelHost } from "./model-host.ts";
export type { CodePlatform } from "./modules/load-code.ts";
export { loadCode } from "./modules/load-code.ts";
export type { JavaScriptInstance } from "./instance.ts";
export { createJavaScriptInstance } from "./instance.ts";
export { autoComplete } from "./auto-complete.ts";
export { describeFailure } from "./describe-failure.ts";
export { modelPath } from "./model-path.ts";
