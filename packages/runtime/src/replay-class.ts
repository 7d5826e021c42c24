import type { ReplayClass } from "@naiad/protocol";
import { OPERATIONS } from "@naiad/protocol";

/**
 * What a second delivery of an HTTP exchange may do, from its request line alone. Routes outside the table of operations
 * count as pure where they only read or infer; anything else is taken to change something.
 */
export function replayClassOf(method: string, rawTarget: string): ReplayClass {
  if (method === "GET" || method === "HEAD") return "pure";
  const [path = ""] = rawTarget.split("?", 1);
  const segments = path.split("/");
  for (const operation of Object.values(OPERATIONS)) {
    if (operation.method !== method) continue;
    if (operation.paths.some((template) => matches(template.split("/"), segments))) return operation.replay;
  }
  const last = segments.at(-1);
  return last === "generate" || last === "generate_stream" ? "pure" : "control";
}

function matches(template: readonly string[], segments: readonly string[]): boolean {
  return (
    template.length === segments.length &&
    template.every(
      (part, index) => part === segments[index] || (part.startsWith("{") && segments[index] !== ""),
    )
  );
}
