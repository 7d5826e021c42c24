import { tritonTraceObjects } from "@naiad/core";
import type { TraceConfig, TraceStamp } from "@naiad/protocol";
import type { ServeLog } from "../serve-log.ts";
import type { JsonListFile } from "./json-list-file.ts";
import { createJsonListFile } from "./json-list-file.ts";
import type { TraceConsumer } from "./trace-consumer.ts";

/** What one setting has picked out and does not stand in a file that is done. */
interface SettingFiles {
  /** Of `log_frequency` traces, and how many there are in it. */
  numbered: { readonly file: JsonListFile; count: number } | undefined;
  /** Texts of traces whose file is not decided yet. */
  held: string[];
  heldBytes: number;
}

/** Beyond it traces of a count that is not complete go to the file where they would go without one. */
const HELD_LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Triton's trace files. With a `log_frequency` every so many traces are a file `<file>.0`, `<file>.1`, ...; without one all are
 * in `<file>`, but those of a `trace_count` that is used up, which have a file with a number too. Unlike Triton's, a file can be
 * read at any time.
 */
export function createTraceFiles({ file }: TraceConfig, log: Pick<ServeLog, "log">): TraceConsumer {
  const plain = createJsonListFile(file);
  const settings = new Map<number, SettingFiles>();
  const failures = new Set<string>();
  let numberedCount = 0;

  function nextNumbered(): JsonListFile {
    numberedCount += 1;
    return createJsonListFile(`${file}.${String(numberedCount - 1)}`);
  }

  function filesOf(settingId: number): SettingFiles {
    let files = settings.get(settingId);
    if (files === undefined) {
      settings.set(settingId, (files = { numbered: undefined, held: [], heldBytes: 0 }));
    }
    return files;
  }

  async function add(objects: string, { id, logFrequency, counted, completes }: TraceStamp): Promise<void> {
    const files = filesOf(id);
    if (logFrequency > 0) {
      const numbered = (files.numbered ??= { file: nextNumbered(), count: 0 });
      numbered.count += 1;
      await numbered.file.append(objects);
      if (numbered.count >= logFrequency || completes) await endNumbered(files);
    } else if (!counted) {
      await plain.append(objects);
    } else {
      files.held.push(objects);
      files.heldBytes += 2 * objects.length;
      if (completes) {
        const numbered = nextNumbered();
        await appendHeld(files, numbered);
        await numbered.close();
      } else if (files.heldBytes > HELD_LIMIT_BYTES) await appendHeld(files, plain);
    }
  }

  async function endNumbered(files: SettingFiles): Promise<void> {
    const { numbered } = files;
    files.numbered = undefined;
    await numbered?.file.close();
  }

  async function appendHeld(files: SettingFiles, target: JsonListFile): Promise<void> {
    const { held } = files;
    files.held = [];
    files.heldBytes = 0;
    if (held.length > 0) await target.append(held.join(","));
  }

  async function end(settingId: number): Promise<void> {
    const files = settings.get(settingId);
    if (files === undefined) return;
    settings.delete(settingId);
    await endNumbered(files);
    await appendHeld(files, plain);
  }

  /** A full disk is told once, and no reason to stop serving. */
  async function orTold(task: () => Promise<void>): Promise<void> {
    try {
      await task();
    } catch (thrown) {
      const reason = thrown instanceof Error ? thrown.message : String(thrown);
      if (failures.has(reason)) return;
      failures.add(reason);
      log.log("error", `failed creating trace file: ${reason}`);
    }
  }

  return {
    take: (note) =>
      orTold(async () => {
        if (note.kind === "setting-ended") return end(note.settingId);
        const objects = tritonTraceObjects(note.trace);
        if (objects !== "") await add(objects, note.trace.setting);
      }),
    async close() {
      for (const id of [...settings.keys()]) await orTold(() => end(id));
      await orTold(() => plain.close());
    },
  };
}
