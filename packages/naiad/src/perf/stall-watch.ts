import type { Clock } from "@naiad/core";

/** Tells when nothing is answered any more. */
export interface StallWatch {
  /** A request has been sent. */
  sent(): void;
  answered(): void;
  stop(): void;
}

/** `onStall` is called once, when requests are on their way and none has been answered for so long. */
export function watchForStall(
  clock: Pick<Clock, "after" | "nowNs">,
  limitNs: number,
  onStall: () => void,
): StallWatch {
  let onTheWay = 0;
  let progressNs = clock.nowNs();
  let cancel = clock.after(limitNs, look);

  function look(): void {
    const quietNs = onTheWay === 0 ? 0 : clock.nowNs() - progressNs;
    if (quietNs >= limitNs) onStall();
    else cancel = clock.after(limitNs - quietNs, look);
  }

  return {
    sent: () => {
      if (onTheWay === 0) progressNs = clock.nowNs();
      onTheWay += 1;
    },
    answered: () => {
      onTheWay -= 1;
      progressNs = clock.nowNs();
    },
    stop: () => {
      cancel();
    },
  };
}
