import { existsSync } from "node:fs";
import { cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { STAND_INS, WRITTEN } from "./written-models.ts";

/** Of the sample and fixture models. */
const COPIED: readonly string[] = [
  "classifier",
  "identity_bool",
  "identity_bytes",
  "identity_fp16",
  "identity_fp32",
  "identity_int64",
  "simple",
  "simple_string",
];

/** Writes the repository that the clients are tried with. Triton's example models come from `examples` where that is given. */
export async function writeClientModels(
  target: string,
  { models, examples }: { readonly models: string; readonly examples: string | undefined },
): Promise<void> {
  for (const name of COPIED) await cp(join(models, name), join(target, name), { recursive: true });
  await writeFiles(target, WRITTEN);
  if (examples === undefined || !existsSync(examples)) {
    await writeFiles(target, STAND_INS);
    return;
  }
  for (const name of await readdir(examples)) {
    await cp(join(examples, name), join(target, name), { recursive: true, force: true });
  }
}

async function writeFiles(target: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(target, path)), { recursive: true });
    await writeFile(join(target, path), text);
  }
}
