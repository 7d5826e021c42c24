import { InferenceError } from "@naiad/protocol";
import type { FileReader } from "../model-host.ts";
import { fileImports } from "./file-imports.ts";

/** Rejects with INVALID_ARG, and the place, for the first import among a model's modules that cannot work. */
export async function checkImports(entry: string, files: FileReader): Promise<void> {
  const seen = new Set<string>();

  async function check(path: string): Promise<void> {
    if (seen.has(path) || path.endsWith(".json")) return;
    seen.add(path);
    const imports = fileImports(path, new TextDecoder().decode(await files.read(path)), files);
    if (imports === undefined) throw new InferenceError("INVALID_ARG", `${path} is no module`);
    for (const imported of imports) await check(imported.path);
  }

  await check(entry);
}
