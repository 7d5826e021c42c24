import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium } from "playwright";
import { run } from "./exec.mjs";

const NAMES = ["google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "chrome"];
// Debian's /usr/bin/chromium is a shell wrapper; the program behind it starts faster and takes signals.
const PLACES = [
  "/usr/lib/chromium/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe",
];

/** Path of a Chromium or Chrome: `NAIAD_BROWSER`, Playwright's own, the system's; `undefined` when there is none. */
export function findBrowser() {
  const given = process.env.NAIAD_BROWSER;
  if (given !== undefined && given !== "") return given;
  const own = chromium.executablePath();
  if (existsSync(own)) return own;
  const onPath = (process.env.PATH ?? "")
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...PLACES, ...onPath].find((path) => existsSync(path));
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
