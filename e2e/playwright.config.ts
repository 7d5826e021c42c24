import { defineConfig } from "playwright/test";
import { findBrowser } from "../scripts/lib/browser.mjs";

const executablePath = findBrowser();

/** A software adapter (SwiftShader): right values, no speed. Each page that uses it costs seconds. */
const WEBGPU = [
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

export default defineConfig({
  testDir: ".",
  globalSetup: "./global-setup.ts",
  testMatch: "*.spec.ts",
  outputDir: "../test-results/e2e",
  timeout: 60_000,
  // Two cores: one browser at a time.
  workers: 1,
  fullyParallel: false,
  forbidOnly: process.env["CI"] !== undefined,
  retries: 0,
  // The JSON report goes to the file that `npm test` names, never to the terminal.
  reporter: process.env["PLAYWRIGHT_JSON_OUTPUT_FILE"] === undefined ? "list" : [["list"], ["json"]],
  use: {
    launchOptions: {
      ...(executablePath === undefined ? {} : { executablePath }),
      args: [...WEBGPU, ...QUIET, ...SANDBOX],
    },
    trace: "off",
  },
});
