import { createStore, type UseStore } from "idb-keyval";

/**
 * One key-value database that survives its connection. Safari drops connections of long-lived pages, at times without the
 * event that tells of it, so a call that finds its connection gone opens another and runs once more; every call made
 * through this must therefore be harmless to repeat. A page that wants to delete the database is not blocked.
 */
export function openKeyValueDatabase(name: string): UseStore {
  let use = createStore(name, "keyval");
  return async (mode, callback) => {
    const current = use;
    const run: typeof callback = (store) => {
      const { db } = store.transaction;
      db.onversionchange = () => {
        db.close();
      };
      return callback(store);
    };
    try {
      return await current(mode, run);
    } catch (error) {
      if (!isConnectionLoss(error)) throw error;
      if (use === current) use = createStore(name, "keyval");
      return use(mode, run);
    }
  };
}

/** InvalidStateError: the connection was closed. UnknownError: Safari's "Connection to Indexed Database server lost". */
function isConnectionLoss(error: unknown): boolean {
  return (
    error instanceof DOMException && (error.name === "InvalidStateError" || error.name === "UnknownError")
  );
}
