/** What was tried and how it went: a line for each, as it comes. */
export interface Tally {
  /** `problem`: why it failed; `undefined`: it did not. */
  note(client: string, name: string, problem: string | undefined, ms?: number): void;
  /** Runs something as one check, whose failure is told and does not end the run. The result is what goes behind its name. */
  check(client: string, name: string, run: () => Promise<string | undefined>): Promise<void>;
  counts(): { readonly passed: number; readonly failed: number };
}

export function createTally(print: (line: string) => void): Tally {
  let passed = 0;
  let failed = 0;
  function note(client: string, name: string, problem: string | undefined, ms?: number): void {
    const took = ms === undefined ? "" : ` (${String(Math.round(ms))} ms)`;
    if (problem === undefined) passed += 1;
    else failed += 1;
    print(
      problem === undefined
        ? `ok    ${client}: ${name}${took}`
        : `FAIL  ${client}: ${name}${took}\n      ${problem.trim().replaceAll("\n", "\n      ")}`,
    );
  }
  return {
    note,
    async check(client, name, run) {
      const began = performance.now();
      try {
        const told = await run();
        note(client, told === undefined ? name : `${name}: ${told}`, undefined, performance.now() - began);
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        note(client, name, problem, performance.now() - began);
      }
    },
    counts: () => ({ passed, failed }),
  };
}
