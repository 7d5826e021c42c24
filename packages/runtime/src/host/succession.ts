import type { FileStore, Logger } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";
import type { Will } from "./will.ts";
import { readWill } from "./will.ts";

const DOCUMENT = "last-host";

/**
 * What a host leaves to its successor: the models it served, with the configurations and files that load requests gave
 * them, and the settings of log and traces. A page that takes over from another host, or restarts its own, goes on with what
 * was changed through the API, not only with what the options say.
 */
export interface Succession {
  /** What the host `hostId` left last, or `undefined` when it was not the last host here. */
  inheritedFrom(hostId: string): Promise<Will | undefined>;
  /** Leaves all this to the successor of the host that it names. Failures are logged: serving goes on without. */
  leave(will: Will): void;
  /** What the last host here left, whichever it was. */
  latest(): Promise<Will | undefined>;
}

export function createSuccession(store: FileStore, logger: Logger): Succession {
  let written = "";
  let writing = Promise.resolve();

  const write = async (text: string): Promise<void> => {
    if (text !== written) return;
    try {
      await store.putDocument(DOCUMENT, text);
    } catch (thrown) {
      logger.log("warning", `cannot keep the list of served models: ${InferenceError.from(thrown).message}`);
    }
  };

  async function latest(): Promise<Will | undefined> {
    const text = await store.getDocument(DOCUMENT);
    return text === undefined ? undefined : readWill(text);
  }

  return {
    latest,
    async inheritedFrom(hostId) {
      const will = await latest();
      return will?.hostId === hostId ? will : undefined;
    },
    leave(will) {
      const text = JSON.stringify(will);
      if (text === written) return;
      written = text;
      writing = writing.then(() => write(text));
    },
  };
}
