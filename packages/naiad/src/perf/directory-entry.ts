import type { DataEntry, EntryTensor } from "./input-data.ts";
import type { PerfModel, PerfTensor } from "./perf-model.ts";

/** What stands in files that are named after tensors, as perf_analyzer takes it. */
export function directoryEntry(model: PerfModel, files: Readonly<Record<string, string>>): DataEntry {
  const tensorsOf = (tensors: readonly PerfTensor[]): Record<string, EntryTensor> =>
    Object.fromEntries(
      tensors.flatMap(({ datatype, name }) => {
        const file = files[name];
        if (file === undefined) return [];
        const content: EntryTensor["content"] =
          datatype === "BYTES" ? { kind: "values", values: linesOf(file) } : { kind: "base64", text: file };
        return [[name, { content }] as const];
      }),
    );
  const expected = tensorsOf(model.outputs);
  return {
    tensors: tensorsOf(model.inputs),
    ...(Object.keys(expected).length > 0 && { expected }),
    parameters: {},
  };
}

function linesOf(base64: string): readonly string[] {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const lines = new TextDecoder().decode(bytes).split(/\r?\n/);
  // A last line that is ended is not followed by an empty one.
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
