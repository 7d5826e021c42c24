import type { CancelTimer, Clock } from "../ports.ts";

/** One timer that is only ever set to an earlier time; whoever is woken sets it again. */
export interface Alarm {
  /** `wake` is called at this time or before. Infinity: nothing changes. */
  setAt(atNs: number): void;
  cancel(): void;
}

export function createAlarm(clock: Clock, wake: () => void): Alarm {
  let timer: { readonly atNs: number; readonly cancel: CancelTimer } | undefined;
  return {
    setAt: (atNs) => {
      if (atNs === Infinity || (timer !== undefined && timer.atNs <= atNs)) return;
      timer?.cancel();
      const cancel = clock.after(Math.max(0, atNs - clock.nowNs()), () => {
        timer = undefined;
        wake();
      });
      timer = { atNs, cancel };
    },
    cancel: () => {
      timer?.cancel();
      timer = undefined;
    },
  };
}
