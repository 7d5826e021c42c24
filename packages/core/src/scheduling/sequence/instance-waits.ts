/** Instances that have work and let it wait for more. */
export interface InstanceWaits {
  /** When the first of them has waited long enough; Infinity: none. */
  readonly nextNs: number;
  set(instanceName: string, untilNs: number): void;
  delete(instanceName: string): void;
  /**
   * Forgets those that have waited long enough. An instance that cannot be asked then, because it executes or has to wait
   * for its turn, is asked when it can be: no time is to be waited for any more.
   */
  expire(nowNs: number): void;
}

export function createInstanceWaits(): InstanceWaits {
  const untilNs = new Map<string, number>();
  return {
    get nextNs() {
      return Math.min(Infinity, ...untilNs.values());
    },
    set: (instanceName, ns) => {
      untilNs.set(instanceName, ns);
    },
    delete: (instanceName) => {
      untilNs.delete(instanceName);
    },
    expire: (nowNs) => {
      for (const [instanceName, ns] of untilNs) if (ns <= nowNs) untilNs.delete(instanceName);
    },
  };
}
