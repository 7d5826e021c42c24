import { mkdtemp, readdir, readFile, rm, truncate } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_TRACE_CONFIG, type Trace } from "@naiad/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { madeUpTrace } from "../../../../test/made-up-trace.ts";
import type { TraceConsumer } from "./trace-consumer.ts";
import { createTraceFiles } from "./trace-files.ts";

let directory = "";
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "naiad-traces-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

function filesAt(file = join(directory, "t.json")): {
  readonly files: TraceConsumer;
  readonly log: string[];
} {
  const log: string[] = [];
  const config = { ...DEFAULT_TRACE_CONFIG, file };
  return { log, files: createTraceFiles(config, { log: (level, text) => log.push(`${level}: ${text}`) }) };
}

async function take(
  { files }: { readonly files: TraceConsumer },
  ...traces: readonly Trace[]
): Promise<void> {
  for (const trace of traces) await files.take({ kind: "trace", trace });
}

/** By file, the ids of the traces that stand in it. */
async function written(): Promise<Readonly<Record<string, readonly number[]>>> {
  const names = (await readdir(directory)).sort();
  const ids = async (name: string): Promise<readonly number[]> => {
    const list = JSON.parse(await readFile(join(directory, name), "utf8")) as readonly {
      id: number;
      model_name?: string;
    }[];
    return list.filter(({ model_name: model }) => model !== undefined).map(({ id }) => id);
  };
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await ids(name)] as const)));
}

describe("the files of traces", () => {
  it("are one, whole after each trace", async () => {
    const bench = filesAt();
    await take(bench, madeUpTrace(1));
    expect(await written()).toEqual({ "t.json": [1] });
    await take(bench, madeUpTrace(2), madeUpTrace(3, {}, { requests: [], activities: [] }), madeUpTrace(4));
    expect(await written()).toEqual({ "t.json": [1, 2, 4] });
    await bench.files.close();
    expect(await written()).toEqual({ "t.json": [1, 2, 4] });
    expect(bench.log).toEqual([]);
  });

  it("hold so many as `log_frequency` says, the last of them what is left", async () => {
    const bench = filesAt();
    await take(bench, ...[1, 2, 3, 4, 5].map((id) => madeUpTrace(id, { logFrequency: 2 })));
    expect(await written()).toEqual({ "t.json.0": [1, 2], "t.json.1": [3, 4], "t.json.2": [5] });
    await bench.files.take({ kind: "setting-ended", settingId: 1, logFrequency: 2 });
    await take(bench, madeUpTrace(6, { id: 2, logFrequency: 2 }));
    await bench.files.close();
    expect(await written()).toMatchObject({ "t.json.2": [5], "t.json.3": [6] });
  });

  it("are, for a count that is used up, one with a number, and for one that is not, the one without", async () => {
    const bench = filesAt();
    const counted = { counted: true };
    await take(bench, madeUpTrace(1, counted), madeUpTrace(2, { ...counted, completes: true }));
    await take(bench, madeUpTrace(3, { ...counted, id: 2 }), madeUpTrace(4, { ...counted, id: 3 }));
    expect(await written()).toEqual({ "t.json.0": [1, 2] });
    await bench.files.take({ kind: "setting-ended", settingId: 2, logFrequency: 0 });
    expect(await written()).toEqual({ "t.json.0": [1, 2], "t.json": [3] });
    await bench.files.close();
    expect(await written()).toEqual({ "t.json.0": [1, 2], "t.json": [3, 4] });
  });

  it("begin anew where somebody empties them, and are left to who else writes them", async () => {
    const bench = filesAt();
    const file = join(directory, "t.json");
    await take(bench, madeUpTrace(1), madeUpTrace(2));
    await truncate(file, 0);
    await take(bench, madeUpTrace(3));
    expect(await written()).toEqual({ "t.json": [3] });
    const other = filesAt();
    await take(other, madeUpTrace(7));
    await take(other, madeUpTrace(8));
    await take(bench, madeUpTrace(4), madeUpTrace(5));
    expect(await written()).toEqual({ "t.json": [7, 8] });
    expect(bench.log).toEqual([expect.stringMatching(/^error: .*somebody else writes to '.*t\.json' too$/)]);
    await bench.files.close();
    await other.files.close();
  });

  it("that cannot be written are told of once", async () => {
    const bench = filesAt(join(directory, "nowhere", "t.json"));
    await take(bench, madeUpTrace(1), madeUpTrace(2));
    await bench.files.close();
    expect(bench.log).toEqual([expect.stringMatching(/^error: failed creating trace file: ENOENT/)]);
  });
});
