import type { ServeLog } from "../serve-log.ts";

const EVERY_MS = 60_000;
/** Of different problems. There are few; whatever makes many must not take the memory. */
const MOST_KINDS = 50;

/**
 * Tells the log what OpenTelemetry's libraries say about exports that fail and queues that are full, in words and not as the
 * JSON of an exception. The same again, or with other numbers in it, is told once a minute, with how often.
 */
export function createProblemTeller(
  log: Pick<ServeLog, "log">,
  nowMs: () => number = () => performance.now(),
): (problem: string) => void {
  const told = new Map<string, { atMs: number; untold: number }>();
  return (problem) => {
    const message = inWords(problem);
    const kind = message.replaceAll(/\d+/g, "0");
    const last = told.get(kind);
    if (last !== undefined && nowMs() - last.atMs < EVERY_MS) {
      last.untold += 1;
      return;
    }
    const more = last === undefined || last.untold === 0 ? "" : ` (and ${String(last.untold)} times before)`;
    if (told.size >= MOST_KINDS) told.clear();
    told.set(kind, { atMs: nowMs(), untold: 0 });
    log.log("warning", `exporting traces: ${message}${more}`);
  };
}

/** Of an exception they print all members, the stack too. */
function inWords(problem: string): string {
  if (!problem.startsWith("{")) return problem;
  try {
    const { code, message, name } = JSON.parse(problem) as Readonly<Record<string, unknown>>;
    const words = [message, code, name].find((word) => typeof word === "string" && word !== "");
    return typeof words === "string" ? words : problem;
  } catch {
    return problem;
  }
}
