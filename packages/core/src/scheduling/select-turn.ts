import type { PoolNeed, PoolUnits } from "./rate-limit-pools.ts";

/** An instance that is free and has work. */
export interface TurnContender {
  /** Executions so far, times priority. */
  readonly rank: number;
  readonly needs: readonly PoolNeed[];
}

/**
 * Whose turn it is (Triton's rate limiter in mode execution_count): of those for whose needs there are units, the one
 * with the smallest rank, and among equals the first in the list. Who has to wait for units keeps what is free of them
 * from those behind, so that an instance that needs many is not overtaken for ever by some that need few; those whose
 * needs do not touch that go on. `undefined`: nobody's.
 */
export function selectTurn<Contender extends TurnContender>(
  contenders: readonly Contender[],
  free: PoolUnits,
): Contender | undefined {
  const left = new Map(free);
  const unitsOf = ({ pool }: PoolNeed): number => left.get(pool.key) ?? 0;
  for (const contender of [...contenders].sort((one, other) => one.rank - other.rank)) {
    if (contender.needs.every((need) => need.count <= unitsOf(need))) return contender;
    for (const need of contender.needs) left.set(need.pool.key, unitsOf(need) - need.count);
  }
  return undefined;
}

/**
 * The rank of an instance that waits for a turn again, or for its first: at least that of the last turns in its pools
 * (`levels`, by key of the pool). Otherwise a model that was loaded later, slept, or took long, would keep the others from
 * executing until it had caught up with all they did meanwhile, as it does in Triton.
 */
export function rankOnReturn({ rank, needs }: TurnContender, levels: ReadonlyMap<string, number>): number {
  if (needs.length === 0) return rank;
  return Math.max(rank, Math.min(...needs.map(({ pool }) => levels.get(pool.key) ?? 0)));
}
