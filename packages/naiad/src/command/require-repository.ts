import { stat } from "node:fs/promises";
import { join } from "node:path";
import { readIfPresent } from "./read-if-present.ts";

/** A missing directory and a model given in place of its repository are the common mistakes. */
export async function requireRepository(directory: string): Promise<void> {
  const stats = await stat(directory).catch(() => undefined);
  if (stats === undefined) throw new Error(`no directory '${directory}'`);
  if (!stats.isDirectory()) throw new Error(`'${directory}' is not a directory`);
  const isModel = (await readIfPresent(join(directory, "config.pbtxt"))) !== undefined;
  if (isModel)
    throw new Error(`'${directory}' is a model (it has a config.pbtxt); give the directory that contains it`);
}
