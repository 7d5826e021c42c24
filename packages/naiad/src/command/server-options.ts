import { readFile } from "node:fs/promises";
import { InferenceError } from "@naiad/protocol";
import { parseInputData } from "../perf/input-data.ts";
import type { PerfInputData } from "../perf/input-data.ts";
import { UsageError } from "./command-io.ts";

/** Options of the commands that talk to a server. All throw a `UsageError`. */

/** `-u`: with a scheme, without a slash at its end. */
export function serverUrl(text: string): string {
  const url = text.includes("://") ? text : `http://${text}`;
  if (!/^https?:/.test(url) || !URL.canParse(url))
    throw new UsageError(`-u must be HOST:PORT or a URL, but it is '${text}'`);
  return url.replace(/\/+$/, "");
}

/** `--input-data`. */
export async function inputDataOption(option: string): Promise<PerfInputData> {
  if (option === "zero" || option === "random") return { kind: option };
  const text = await readFile(option, "utf8").catch((error: unknown) => {
    const isDirectory = error instanceof Error && "code" in error && error.code === "EISDIR";
    const reason = isDirectory ? "directories of inputs are not read, only JSON files" : String(error);
    throw new UsageError(`--input-data '${option}': ${reason}`, { cause: error });
  });
  return asUsage(() => parseInputData(text), `--input-data '${option}'`);
}

/** `--shape`. */
export function shapeOptions(texts: readonly string[]): Readonly<Record<string, readonly number[]>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, dims] = /^(.+):(\d+(?:,\d+)*)$/.exec(text) ?? [];
      if (name === undefined || dims === undefined) {
        throw new UsageError(`--shape must be NAME:SIZE,SIZE..., but it is '${text}'`);
      }
      return [name, dims.split(",").map(Number)];
    }),
  );
}

/** What readers of the measurement refuse is a wrong command line here. */
export function asUsage<Value>(read: () => Value, prefix?: string): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    throw new UsageError(prefix === undefined ? error.message : `${prefix}: ${error.message}`, {
      cause: error,
    });
  }
}
