import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CodePlatform } from "@naiad/backend-javascript";

/** How a thread of Node.js runs the modules of a model: as files, or as addresses made of their text. */
export const nodeCode: CodePlatform = {
  // A bundler must leave it as it is.
  importModule: (url) => import(/* @vite-ignore */ url) as Promise<Readonly<Record<string, unknown>>>,
  makeModuleUrl: (source, type) => `data:${type};base64,${Buffer.from(source).toString("base64")}`,
  isServed: (url) => Promise.resolve(url.startsWith("file:") && existsSync(fileURLToPath(url))),
  placeOf: (thrown) => markedPlace(thrown.stack ?? "", /^((?:file|data):.+):(\d+)$/),
  placeInText: async (text) => markedPlace(await syntaxComplaint(text), /^(\[stdin\]):(\d+)$/),
};

/** Node.js puts the place before the error: `<url>:<line>`, the line itself, and a mark under the column. */
function markedPlace(
  text: string,
  pattern: RegExp,
): { readonly url: string; readonly line: number; readonly column: number } | undefined {
  const [head = "", , mark = ""] = text.split("\n");
  const [, url, line] = pattern.exec(head) ?? [];
  if (url === undefined) return undefined;
  return { url, line: Number(line), column: mark.indexOf("^") + 1 };
}

const LONGEST_CHECK_MS = 10_000;

/**
 * What Node.js has against a module, or nothing. The error of an `import` has no place where the text is no JavaScript; only this
 * way of asking shows it, without running anything.
 */
function syntaxComplaint(text: string): Promise<string> {
  return new Promise((resolve) => {
    const options = { env: {}, timeout: LONGEST_CHECK_MS, windowsHide: true };
    const child = execFile(
      process.execPath,
      ["--check", "--input-type=module", "-"],
      options,
      (_error, _out, complaint) => {
        resolve(complaint);
      },
    );
    // It may have ended before it has read everything.
    child.stdin?.on("error", () => undefined).end(text);
  });
}
