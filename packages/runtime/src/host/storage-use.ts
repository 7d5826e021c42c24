import type { PlaceMetrics } from "@naiad/core";

type StorageUse = NonNullable<PlaceMetrics["storage"]>;

/**
 * What the platform has last said of the origin's storage, at once: each call asks it again, for those that come later.
 * `undefined` as long as it has said nothing.
 */
export function createStorageUse(
  estimate: () => Promise<Pick<StorageEstimate, "quota" | "usage">>,
): () => StorageUse | undefined {
  let latest: StorageUse | undefined;
  let isAsking = false;

  async function ask(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    try {
      const { quota, usage } = await estimate();
      latest = quota === undefined ? undefined : { usedBytes: usage ?? 0, quotaBytes: quota };
    } catch {
      latest = undefined;
    } finally {
      isAsking = false;
    }
  }

  void ask();
  return () => {
    void ask();
    return latest;
  };
}
