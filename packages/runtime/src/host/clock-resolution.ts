/** Steps to see before the smallest of them is believed. */
const STEPS = 20;
/** Enough for a step of about 10 ms, which takes that long once. */
const MOST_READINGS = 200_000;
/** What is told of a clock that stood still all that time: browsers that resist fingerprinting step by up to 100 ms. */
const COARSEST_NS = 100e6;

/**
 * The smallest step that a clock makes, in nanoseconds, at least 1: reads it until it has moved often enough. Browsers blur
 * single steps, never below their resolution.
 */
export function clockResolution(nowNs: () => number): number {
  let smallest = COARSEST_NS;
  let steps = 0;
  let before = nowNs();
  for (let reading = 0; reading < MOST_READINGS && steps < STEPS; reading += 1) {
    const now = nowNs();
    if (now <= before) continue;
    smallest = Math.min(smallest, now - before);
    steps += 1;
    before = now;
  }
  return smallest;
}
