import type { FileStore, Logger } from "../ports.ts";

/** What a comparison of a GPU with the CPU has shown about one model. */
export type Verdict =
  | { readonly kind: "equal" }
  /** The reason reads on after "the GPU cannot run it: ". */
  | { readonly kind: "different"; readonly reason: string }
  /** Nothing was shown, and nothing would be next time. */
  | { readonly kind: "unknown"; readonly reason: string };

/** Verdicts of earlier visits. */
export interface VerdictMemory {
  recall(key: string): Promise<Verdict | undefined>;
  /** A verdict that cannot be kept is found again next time. */
  keep(key: string, verdict: Verdict): Promise<void>;
}

export function createVerdictMemory(
  store: Pick<FileStore, "getDocument" | "putDocument">,
  logger: Logger,
): VerdictMemory {
  const documentOf = (key: string): string => `verification/${key}`;
  return {
    async recall(key) {
      try {
        return parseVerdict(await store.getDocument(documentOf(key)));
      } catch (thrown) {
        logger.log("verbose", `the result of a comparison cannot be read: ${String(thrown)}`);
        return undefined;
      }
    },
    async keep(key, verdict) {
      try {
        await store.putDocument(documentOf(key), JSON.stringify(verdict));
      } catch (thrown) {
        logger.log("verbose", `the result of a comparison cannot be kept: ${String(thrown)}`);
      }
    },
  };
}

/** `undefined` for anything else than what `keep` wrote. */
function parseVerdict(text: string | undefined): Verdict | undefined {
  const value: unknown = JSON.parse(text ?? "null");
  if (typeof value !== "object" || value === null || !("kind" in value)) return undefined;
  const { kind } = value;
  if (kind === "equal") return { kind };
  if (kind !== "different" && kind !== "unknown") return undefined;
  return "reason" in value && typeof value.reason === "string" ? { kind, reason: value.reason } : undefined;
}
