import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

/** A missing directory and a model given in place of its repository are the common mistakes. */
export async function requireRepository(directory: string): Promise<void> {
  const stats = await stat(directory).catch(() => undefined);
  if (stats === undefined) throw new Error(`no directory '${directory}'`);
  if (!stats.isDirectory()) throw new Error(`'${directory}' is not a directory`);
  const sign = await signOfModel(directory);
  if (sign !== undefined) {
    throw new Error(`'${directory}' is a model (it has ${sign}); give the directory that contains it`);
  }
}

/** What only the directory of a model has. */
async function signOfModel(directory: string): Promise<string | undefined> {
  const entries = await readdir(directory, { withFileTypes: true });
  if (entries.some(({ name }) => name === "config.pbtxt")) return "a config.pbtxt";
  for (const { name } of entries) {
    if (!/^\d+$/.test(name)) continue;
    // A model may be called 1; then it has versions of its own.
    const inside = await readdir(join(directory, name)).catch(() => []);
    const file = inside.find((one) => /^model\.(onnx|js|py|pt|plan|graphdef)$/.test(one));
    if (file !== undefined) return `${name}/${file}`;
  }
  return undefined;
}
