import type { FileStore, LoadOrigin, Logger } from "@naiad/core";
import { parseModelFile } from "@naiad/core";
import { InferenceError } from "@naiad/protocol";

const DOCUMENT = "last-host";

/**
 * What a host leaves to its successor: the models it served, with the configurations and files that load requests gave
 * them. A page that takes over from another host, or restarts its own, goes on with the models that were loaded through the
 * API, not only with those of the options.
 */
export interface Succession {
  /** The models that the host `hostId` served last, or `undefined` when it was not the last host here. */
  inheritedFrom(hostId: string): Promise<readonly LoadOrigin[] | undefined>;
  /** Leaves `models` to the successor of `hostId`. Failures are logged: serving goes on without. */
  leave(hostId: string, models: readonly LoadOrigin[]): void;
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

interface Will {
  readonly hostId: string;
  readonly models: readonly LoadOrigin[];
}

/** An older version of this page may have written it. */
function readWill(text: string): Will | undefined {
  try {
    const will: unknown = JSON.parse(text);
    if (typeof will !== "object" || will === null || !("hostId" in will) || !("models" in will)) {
      return undefined;
    }
    const { hostId, models } = will;
    if (typeof hostId !== "string" || !Array.isArray(models)) return undefined;
    return { hostId, models: models.flatMap(readOrigin) };
  } catch {
    return undefined;
  }
}

/** Nothing for what is no model; throws for a model whose files cannot be understood. */
function readOrigin(value: unknown): readonly LoadOrigin[] {
  if (typeof value !== "object" || value === null || !("modelName" in value)) return [];
  const { modelName } = value;
  if (typeof modelName !== "string") return [];
  const config = "config" in value && typeof value.config === "string" ? { config: value.config } : {};
  if (!("files" in value) || !Array.isArray(value.files)) return [{ modelName, ...config }];
  const files = value.files.map((file: unknown, index) => parseModelFile(file, `files[${index}]`));
  return [{ modelName, ...config, files }];
}
