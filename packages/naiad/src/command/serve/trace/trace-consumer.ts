import { access, constants, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { TraceConfig, TraceNote } from "@naiad/protocol";
import type { ServeLog } from "../serve-log.ts";
import { createSpanExport } from "./span-export.ts";
import { createTraceFiles } from "./trace-files.ts";

/** Where the command brings traces. */
export interface TraceConsumer {
  /** Resolves when the next may come. Never rejects: what goes wrong is told to the log. */
  take(note: Exclude<TraceNote, { readonly kind: "dropped" }>): Promise<void>;
  /** Resolves when everything is where it belongs. No more is taken. */
  close(): Promise<void>;
}

/** Rejects where a file for traces is named that cannot be written. */
export async function openTraceConsumer(
  config: TraceConfig,
  log: Pick<ServeLog, "log">,
): Promise<TraceConsumer> {
  if (config.mode === "opentelemetry") return createSpanExport(config, log);
  if (config.file !== "") await requireWritable(config.file);
  return createTraceFiles(config, log);
}

/** Nothing is made before there is a trace, since an empty file is no list; files with numbers are made beside it. */
async function requireWritable(file: string): Promise<void> {
  try {
    await access(dirname(file), constants.W_OK | constants.X_OK);
    const stats = await stat(file).catch(() => undefined);
    if (stats?.isDirectory() === true) throw new Error(`'${file}' is a directory`);
    if (stats !== undefined) await access(file, constants.W_OK);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`failed creating trace file '${file}': ${reason}`, { cause: thrown });
  }
}
