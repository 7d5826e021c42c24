import type { BrowserOptions } from "../options/serve-options.ts";

export interface BrowserPlace {
  readonly platform: NodeJS.Platform;
  /** Whether the system has a graphics processor that the browser may get at. */
  readonly hasGpu: boolean;
}

/** Nothing that talks to the outside, asks questions, or slows a page that nobody looks at. */
const QUIET = [
  "--no-first-run",
  "--no-default-browser-check",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-extensions",
  "--disable-sync",
  "--disable-breakpad",
  "--metrics-recording-only",
  "--password-store=basic",
  "--use-mock-keychain",
  "--mute-audio",
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-renderer-backgrounding",
  // Containers give /dev/shm 64 MB, in which a browser crashes.
  "--disable-dev-shm-usage",
];

/** Chromium on Linux keeps WebGPU behind these, and asks for Vulkan without a window. */
const LINUX_GPU = [
  "--enable-unsafe-webgpu",
  "--enable-features=Vulkan",
  "--use-angle=vulkan",
  "--disable-vulkan-surface",
  "--ignore-gpu-blocklist",
];

const SOFTWARE_GPU = [
  "--enable-unsafe-webgpu",
  "--enable-features=Vulkan",
  "--use-webgpu-adapter=swiftshader",
  "--use-vulkan=swiftshader",
  "--enable-unsafe-swiftshader",
  "--ignore-gpu-blocklist",
];

/** What the browser is started with, apart from its profile and its page. */
export function browserArguments(
  { arguments: more, gpu, sandbox }: BrowserOptions,
  place: BrowserPlace,
): readonly string[] {
  return [
    "--headless=new",
    // No DevTools port: the browser ends when this pipe is closed, so that it never outlives the command.
    "--remote-debugging-pipe",
    ...QUIET,
    ...gpuArguments(gpu, place),
    ...(sandbox === "off" ? ["--no-sandbox"] : []),
    ...more,
  ];
}

function gpuArguments(gpu: BrowserOptions["gpu"], { hasGpu, platform }: BrowserPlace): readonly string[] {
  switch (gpu) {
    case "software":
      return SOFTWARE_GPU;
    case "off":
      return ["--disable-gpu"];
    case "auto":
      if (!hasGpu) return ["--disable-gpu"];
      return platform === "linux" ? LINUX_GPU : ["--enable-unsafe-webgpu"];
  }
}
