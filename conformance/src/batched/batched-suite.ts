import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createMemoryRepository } from "@naiad/testing";
import { sendOk } from "../http-client.ts";
import { digest, startInProcessServer } from "../in-process-server.ts";
import type { SuiteReport } from "../report.ts";
import { createTally, reasonOf } from "../report.ts";
import { checkStories, STORY_CONFIG, STORY_MODEL } from "./story-cases.ts";
import { checkVoice, VOICE_CONFIG, VOICE_MODEL } from "./voice-cases.ts";

/** `<folder>/models/batched`: stateful models behind the sequence batcher, held against what each stream gives alone. */
export async function runBatchedSuite(folder: string): Promise<SuiteReport> {
  const tally = createTally();
  const model = (name: string, config: string): Readonly<Record<string, string | Uint8Array>> => ({
    "config.pbtxt": config,
    "1/model.onnx": new Uint8Array(readFileSync(join(folder, "models/batched", `${name}.onnx`))),
  });
  const source = createMemoryRepository(
    { [VOICE_MODEL]: model(VOICE_MODEL, VOICE_CONFIG), [STORY_MODEL]: model(STORY_MODEL, STORY_CONFIG) },
    { digest },
  );
  const server = await startInProcessServer({ source });
  try {
    for (const [name, check] of [
      [VOICE_MODEL, checkVoice],
      [STORY_MODEL, checkStories],
    ] as const) {
      try {
        await sendOk(server.handle, "POST", `/v2/repository/models/${name}/load`);
        await check(server.handle, folder, tally);
      } catch (thrown) {
        tally.fail(name, reasonOf(thrown));
      }
    }
  } finally {
    await server.stop();
  }
  return tally.report();
}
