/** A software adapter (SwiftShader): right values, no speed. Each page that uses it costs seconds. */
export const SOFTWARE_GPU: readonly string[] = [
  "--enable-unsafe-webgpu",
  "--enable-features=Vulkan",
  "--use-webgpu-adapter=swiftshader",
  "--use-vulkan=swiftshader",
  "--enable-unsafe-swiftshader",
  "--ignore-gpu-blocklist",
];
const QUIET = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
];
/** Chromium's sandbox does not start as root in a container; only there it is off. */
const SANDBOX = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

/** How tests start Chromium. */
export const BROWSER_ARGUMENTS: string[] = [...SOFTWARE_GPU, ...QUIET, ...SANDBOX];
