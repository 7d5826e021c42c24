import type { RateLimitResource } from "@naiad/protocol";
import { invariant } from "@naiad/protocol";
import type { InstancePlacement } from "../ports.ts";
import type { PoolNeed, PoolUnits } from "./rate-limit-pools.ts";
import { poolNeeds, sizePools } from "./rate-limit-pools.ts";
import type { TurnContender } from "./select-turn.ts";
import { rankOnReturn, selectTurn } from "./select-turn.ts";

/**
 * Triton's rate limiter in mode execution_count, one for all instances of a server: who may execute, and when. An
 * instance is asked for its work when its turn has come and not before, so that a batch can grow until then.
 */
export interface RateLimiter {
  /** INVALID_ARG where `join` would refuse one of these instances. */
  check(placements: readonly InstancePlacement[]): void;
  /** Takes an instance in, which may make pools larger. INVALID_ARG with Triton's texts where it could never execute. */
  join(placement: InstancePlacement, taker: TurnTaker): Turns;
  /** Gives turns as far as there are units: to be called when somebody may have work. */
  advance(): void;
  /** How many of these would have their turn right now if all of them had work. */
  countReady(turns: readonly Turns[]): number;
}

/** An instance as the rate limiter sees it. */
export interface TurnTaker {
  /** Whether it is free and may have work. */
  wants(): boolean;
  /** It is its turn: takes work and answers whether there was any; if so `release` is owed. Without work it wakes nobody. */
  take(): boolean;
}

/** The turns of one instance. */
export interface Turns {
  /** What it executed is done, or lost. */
  release(): void;
  /** It takes no more turns; one that it has ends with its `release`. Idempotent. */
  leave(): void;
}

export function createRateLimiter(given: readonly RateLimitResource[]): RateLimiter {
  return new LiveRateLimiter(given);
}

interface Member extends TurnContender {
  rank: number;
  readonly priority: number;
  readonly taker: TurnTaker;
  readonly turns: Turns;
  /** It was free and had work when it was last looked at. */
  isWaiting: boolean;
  isExecuting: boolean;
  hasLeft: boolean;
}

class LiveRateLimiter implements RateLimiter {
  readonly #given: readonly RateLimitResource[];
  /** The one that has been free for longest first. */
  readonly #members = new Set<Member>();
  readonly #used = new Map<string, number>();
  #sizes: PoolUnits = new Map();
  /** By key of the pool, the largest rank that had a turn in it. */
  readonly #levels = new Map<string, number>();
  #advancing = false;
  #isAskedAgain = false;

  constructor(given: readonly RateLimitResource[]) {
    this.#given = given;
  }

  check(placements: readonly InstancePlacement[]): void {
    this.#sizesWith(placements.map(poolNeeds));
  }

  join(placement: InstancePlacement, taker: TurnTaker): Turns {
    const needs = poolNeeds(placement);
    this.#sizes = this.#sizesWith([needs]);
    const turns: Turns = {
      release: () => {
        this.#release(member);
      },
      leave: () => {
        this.#leave(member);
      },
    };
    const member: Member = {
      needs,
      priority: Math.max(1, placement.rateLimit?.priority ?? 1),
      taker,
      turns,
      rank: 0,
      isWaiting: false,
      isExecuting: false,
      hasLeft: false,
    };
    this.#members.add(member);
    return turns;
  }

  advance(): void {
    this.#isAskedAgain = true;
    if (this.#advancing) return;
    this.#advancing = true;
    try {
      const declined = new Set<Member>();
      for (;;) {
        if (this.#isAskedAgain) declined.clear();
        this.#isAskedAgain = false;
        const contenders = this.#contenders().filter((member) => !declined.has(member));
        const chosen = selectTurn(contenders, this.#free());
        if (chosen === undefined) return;
        if (!this.#give(chosen)) declined.add(chosen);
      }
    } finally {
      this.#advancing = false;
    }
  }

  countReady(turns: readonly Turns[]): number {
    const asking = new Set(turns);
    let waiting = [...this.#members].filter(
      (member) => isFree(member) && (asking.has(member.turns) || member.taker.wants()),
    );
    const free = new Map(this.#free());
    for (let count = 0; ;) {
      const next = selectTurn(waiting, free);
      if (next === undefined) return count;
      if (asking.has(next.turns)) count += 1;
      waiting = waiting.filter((member) => member !== next);
      for (const { pool, count: units } of next.needs) free.set(pool.key, (free.get(pool.key) ?? 0) - units);
    }
  }

  /** Those that are free and may have work. */
  #contenders(): readonly Member[] {
    const contenders = [...this.#members].filter((member) => {
      if (!isFree(member)) return false;
      if (member.taker.wants()) return true;
      member.isWaiting = false;
      return false;
    });
    for (const member of contenders) {
      if (member.isWaiting) continue;
      member.rank = rankOnReturn(member, this.#levels);
      member.isWaiting = true;
    }
    return contenders;
  }

  #free(): PoolUnits {
    return new Map([...this.#sizes].map(([key, size]) => [key, size - (this.#used.get(key) ?? 0)]));
  }

  /** Whether there was work. */
  #give(member: Member): boolean {
    member.isExecuting = true;
    this.#use(member.needs, 1);
    let hasWork = false;
    try {
      hasWork = member.taker.take();
    } finally {
      if (!hasWork) {
        member.isExecuting = false;
        this.#use(member.needs, -1);
      }
    }
    if (!hasWork) return false;
    member.isWaiting = false;
    for (const { pool } of member.needs) {
      this.#levels.set(pool.key, Math.max(member.rank, this.#levels.get(pool.key) ?? 0));
    }
    return true;
  }

  #release(member: Member): void {
    invariant(member.isExecuting, "only a turn that was taken ends");
    member.isExecuting = false;
    member.rank += member.priority;
    this.#use(member.needs, -1);
    if (this.#members.delete(member) && !member.hasLeft) this.#members.add(member);
    if (member.hasLeft) this.#sizes = this.#sizesWith([]);
    this.advance();
  }

  #leave(member: Member): void {
    if (member.hasLeft) return;
    member.hasLeft = true;
    if (member.isExecuting) return;
    this.#members.delete(member);
    this.#sizes = this.#sizesWith([]);
    this.advance();
  }

  #use(needs: readonly PoolNeed[], sign: 1 | -1): void {
    for (const { pool, count } of needs) {
      const used = (this.#used.get(pool.key) ?? 0) + sign * count;
      if (used === 0) this.#used.delete(pool.key);
      else this.#used.set(pool.key, used);
    }
  }

  #sizesWith(more: readonly (readonly PoolNeed[])[]): PoolUnits {
    return sizePools([...[...this.#members].map(({ needs }) => needs), ...more], this.#given);
  }
}

function isFree(member: Member): boolean {
  return !member.isExecuting && !member.hasLeft;
}
