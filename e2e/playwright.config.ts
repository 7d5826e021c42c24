import { defineConfig } from "playwright/test";
import { findBrowser } from "../scripts/lib/browser.mjs";
import { BROWSER_ARGUMENTS } from "./browser-arguments.ts";

const executablePath = findBrowser();

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
      args: BROWSER_ARGUMENTS,
    },
    trace: "off",
  },
});
