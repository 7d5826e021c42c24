import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DEFAULT_TRACE_CONFIG } from "@naiad/protocol";
import { expect, it } from "vitest";
import { openTraceConsumer } from "./trace-consumer.ts";

it("does not open a trace file that cannot be written, and makes none before there is a trace", async () => {
  const directory = await mkdtemp(join(tmpdir(), "naiad-traces-"));
  const openAt = (file: string) =>
    openTraceConsumer({ ...DEFAULT_TRACE_CONFIG, file }, { log: () => undefined });
  try {
    const missing = join(directory, "nowhere", "t.json");
    await expect(openAt(missing)).rejects.toThrow(`failed creating trace file '${missing}': ENOENT`);
    await expect(openAt(directory)).rejects.toThrow("is a directory");
    const consumer = await openAt(join(directory, "t.json"));
    await consumer.close();
    expect(await readdir(directory)).toEqual([]);
  } finally {
    await rm(directory, { recursive: true });
  }
});
