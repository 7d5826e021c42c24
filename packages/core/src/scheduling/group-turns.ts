import type { InstancePlacement } from "../ports.ts";
import type { InstanceSlot } from "./instance-slot.ts";
import type { RateLimiter, Turns, TurnTaker } from "./rate-limiter.ts";

export interface GroupTurnsOptions {
  /** None: every instance may execute whenever it is free. */
  readonly rateLimiter: RateLimiter | undefined;
  readonly takerOf: (slot: InstanceSlot) => TurnTaker;
}

/** Must be committed or abandoned. */
interface PreparedTurns {
  commit(): void;
  abandon(): void;
}

/** The instances of one group as members of the server's rate limiter. */
export class GroupTurns {
  readonly #options: GroupTurnsOptions;
  #turns: ReadonlyMap<InstanceSlot, Turns> = new Map();

  constructor(options: GroupTurnsOptions) {
    this.#options = options;
  }

  /**
   * Joins all of them, also those that are members already: what they need may have changed. INVALID_ARG, and nothing has
   * changed, where one could never execute.
   */
  prepare(
    instances: readonly { readonly slot: InstanceSlot; readonly placement: InstancePlacement }[],
  ): PreparedTurns {
    const joined = new Map<InstanceSlot, Turns>();
    const abandon = (): void => {
      leaveAll(joined);
    };
    const { rateLimiter, takerOf } = this.#options;
    try {
      for (const { slot, placement } of instances) {
        if (rateLimiter !== undefined) joined.set(slot, rateLimiter.join(placement, takerOf(slot)));
      }
    } catch (thrown) {
      abandon();
      throw thrown;
    }
    return {
      commit: () => {
        const former = this.#turns;
        this.#turns = joined;
        leaveAll(former);
      },
      abandon,
    };
  }

  /** `undefined` without a rate limiter. */
  of(slot: InstanceSlot): Turns | undefined {
    return this.#turns.get(slot);
  }

  /** How many of these free instances would have their turn now. */
  countReady(slots: readonly InstanceSlot[]): number {
    const { rateLimiter } = this.#options;
    if (rateLimiter === undefined || slots.length === 0) return slots.length;
    return rateLimiter.countReady(slots.flatMap((slot) => this.of(slot) ?? []));
  }

  leave(): void {
    leaveAll(this.#turns);
  }
}

function leaveAll(turns: ReadonlyMap<InstanceSlot, Turns>): void {
  for (const one of turns.values()) one.leave();
}
