import { InferenceError } from "@naiad/protocol";
import type { ModelFiles } from "./model/model.ts";
import type { FileReader } from "./model-host.ts";

/** `args.files`. */
export function createModelFiles(reader: FileReader): ModelFiles {
  const text = async (path: string): Promise<string> => new TextDecoder().decode(await reader.read(path));
  return {
    paths: reader.paths,
    read: async (path) => new Uint8Array(await reader.read(path)),
    readText: text,
    async readJson(path) {
      try {
        return JSON.parse(await text(path)) as unknown;
      } catch (thrown) {
        if (!(thrown instanceof SyntaxError)) throw thrown;
        throw new InferenceError("INVALID_ARG", `file '${path}' is no JSON: ${thrown.message}`);
      }
    },
  };
}
