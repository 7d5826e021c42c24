import type { LogLevel } from "@naiad/protocol";

export interface LogNote {
  readonly level: LogLevel;
  readonly message: string;
}

/**
 * Asks the browser to keep what the site has stored, also when the disk gets full, and gives the answer as a line for the log.
 * Only a page can ask. Chromium and Safari decide by themselves; Firefox asks the user, so that this may take long.
 */
export async function persistStorage(
  storage: Pick<StorageManager, "persist" | "persisted"> | undefined,
): Promise<LogNote> {
  if (storage === undefined) {
    return {
      level: "warning",
      message: `stored models ${MAY_GO}: storage can only be kept in a secure context`,
    };
  }
  if ((await storage.persisted()) || (await storage.persist())) {
    return {
      level: "info",
      message: "stored models are kept: the browser gave this site persistent storage",
    };
  }
  return { level: "warning", message: `stored models ${MAY_GO}: it refused persistent storage to this site` };
}

const MAY_GO = "may be removed by the browser when the disk gets full";
