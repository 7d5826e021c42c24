import type { StoreLocks } from "@naiad/core";

/** Locks of the servers over one store, which all get the same of these. A task that runs makes nobody wait. */
export function memoryStoreLocks(): StoreLocks {
  const holders = new Map<string, number>();
  const count = (name: string): number => holders.get(name) ?? 0;
  return {
    hold: (name) => {
      holders.set(name, count(name) + 1);
      let release = (): void => {
        holders.set(name, count(name) - 1);
        release = () => undefined;
      };
      return Promise.resolve(() => {
        release();
      });
    },
    whileFree: async (name, task) => {
      if (count(name) > 0) return false;
      await task();
      return true;
    },
  };
}
