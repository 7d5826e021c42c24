import { existsSync } from "node:fs";
import { chromium } from "playwright";
import { findBrowser as findSystemBrowser } from "../../packages/naiad/src/command/serve/browser/find-browser.ts";
import { run } from "./exec.mjs";

/** Path of a Chromium or Chrome: `NAIAD_BROWSER`, Playwright's own, the system's; `undefined` when there is none. */
export function findBrowser() {
  const own = chromium.executablePath();
  const isGiven = (process.env.NAIAD_BROWSER ?? "") !== "";
  return !isGiven && existsSync(own) ? own : findSystemBrowser(process.env);
}

/** Finds a browser or installs one: Playwright's, else Debian's package. */
export async function ensureBrowser() {
  const found = findBrowser();
  if (found !== undefined) return found;
  console.log("no Chromium found: installing one ...");
  const attempts = [
    () =>
      run("node", ["node_modules/playwright/cli.js", "install", "--with-deps", "chromium"], {
        stdio: "ignore",
      }),
    () => apt(["update"]).then(() => apt(["install", "-y", "--no-install-recommends", "chromium"])),
  ];
  // Where downloads of browsers are blocked the first attempt only costs time, so Debian goes first on Debian.
  if (existsSync("/etc/debian_version")) attempts.reverse();
  for (const attempt of attempts) {
    await attempt().catch(() => undefined);
    const path = findBrowser();
    if (path !== undefined) return path;
  }
  throw new Error("no Chromium or Chrome: install one, or name it in NAIAD_BROWSER");
}

function apt(args) {
  const root = process.getuid?.() === 0;
  return run(root ? "apt-get" : "sudo", root ? args : ["-n", "apt-get", ...args], { stdio: "ignore" });
}
