import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

const NAMES = ["google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "chrome"];

/** Debian's /usr/bin/chromium is a shell wrapper; the program behind it starts faster and takes signals. */
const PLACES = [
  "/usr/lib/chromium/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  "C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe",
];

/** Path of a Chrome or Chromium: `NAIAD_BROWSER`, else what the system has; `undefined` when there is none. */
export function findBrowser(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const given = environment.NAIAD_BROWSER;
  if (given !== undefined && given !== "") return given;
  const onPath = (environment.PATH ?? "")
    .split(delimiter)
    .flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [...PLACES, ...onPath].find((path) => existsSync(path));
}

/** The path that was given, or else the one that is found. `otherwise`: what else helps where there is none. */
export function requireBrowser(
  given: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
  otherwise = "",
): string {
  const path = given ?? findBrowser(environment);
  if (path !== undefined) return path;
  throw new Error(
    `no Chrome or Chromium found: install one, or name it with --browser or in NAIAD_BROWSER${otherwise}`,
  );
}
