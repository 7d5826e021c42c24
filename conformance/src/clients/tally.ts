/** What was tried, and how it went. */
export interface Note {
  readonly client: string;
  /** Of the client, where several are tried. */
  readonly release?: string | undefined;
  readonly name: string;
  /** Of Triton's example programs the one whose course this is. */
  readonly program?: string | undefined;
  /** What came out, where that says more than that it went well. */
  readonly told?: string | undefined;
  /** Why it failed; none where it did not. */
  readonly problem?: string | undefined;
  readonly ms?: number | undefined;
}

/** Keeps what was tried, and prints a line for each as it comes. */
export interface Tally {
  note(note: Note): void;
  /** Runs something as one check, whose failure is told and does not end the run. The result is what goes behind its name. */
  check(client: string, name: string, run: () => Promise<string | undefined>): Promise<void>;
  notes(): readonly Note[];
  counts(): { readonly passed: number; readonly failed: number };
}

export function createTally(print: (line: string) => void): Tally {
  const notes: Note[] = [];
  function note(one: Note): void {
    notes.push(one);
    print(lineOf(one));
  }
  return {
    note,
    async check(client, name, run) {
      const began = performance.now();
      const ms = (): number => performance.now() - began;
      try {
        const told = await run();
        note({ client, name, told, ms: ms() });
      } catch (error) {
        note({ client, name, problem: error instanceof Error ? error.message : String(error), ms: ms() });
      }
    },
    notes: () => notes,
    counts() {
      const failed = notes.filter(({ problem }) => problem !== undefined).length;
      return { passed: notes.length - failed, failed };
    },
  };
}

function lineOf({ client, ms, name, problem, release, told }: Note): string {
  const who = release === undefined ? client : `${client} ${release}`;
  const took = ms === undefined ? "" : ` (${String(Math.round(ms))} ms)`;
  const what = `${who}: ${name}${told === undefined ? "" : `: ${told}`}${took}`;
  return problem === undefined
    ? `ok    ${what}`
    : `FAIL  ${what}\n      ${problem.trim().replaceAll("\n", "\n      ")}`;
}
