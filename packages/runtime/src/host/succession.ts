import type { FileStore, Logger } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";

const DOCUMENT = "last-host";

/**
 * What a host leaves to its successor: the names of the models it served. A page that takes over from another host, or
 * restarts its own, goes on with the models that were loaded through the API, not only with those of the options.
 */
export interface Succession {
  /** The models that the host `hostId` served last, or `undefined` when it was not the last host here. */
  inheritedFrom(hostId: string): Promise<readonly string[] | undefined>;
  /** Leaves `models` to the successor of `hostId`. Failures are logged: serving goes on without. */
  leave(hostId: string, models: readonly string[]): void;
}

export function createSuccession(store: FileStore, logger: Logger): Succession {
  let latest = "";
  let writing = Promise.resolve();

  const write = async (text: string): Promise<void> => {
    if (text !== latest) return;
    try {
      await store.putDocument(DOCUMENT, text);
    } catch (thrown) {
      logger.log("warning", `cannot keep the list of served models: ${InferenceError.from(thrown).message}`);
    }
  };

  return {
    async inheritedFrom(hostId) {
      const text = await store.getDocument(DOCUMENT);
      const will = text === undefined ? undefined : readWill(text);
      return will?.hostId === hostId ? will.models : undefined;
    },
    leave(hostId, models) {
      const text = JSON.stringify({ hostId, models });
      if (text === latest) return;
      latest = text;
      writing = writing.then(() => write(text));
    },
  };
}

function readWill(text: string): { readonly hostId: string; readonly models: readonly string[] } | undefined {
  const will: unknown = JSON.parse(text);
  if (typeof will !== "object" || will === null || !("hostId" in will) || !("models" in will))
    return undefined;
  const { hostId, models } = will;
  if (typeof hostId !== "string" || !Array.isArray(models)) return undefined;
  return { hostId, models: models.filter((name) => typeof name === "string") };
}
