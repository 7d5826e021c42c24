/** What one suite has to say. */
export interface SuiteReport {
  /** How many cases were held against what is expected, and met it. */
  readonly passed: number;
  readonly failures: readonly Finding[];
  /** Cases that do not count against us, by the reason. */
  readonly leftOut: readonly LeftOut[];
  /** Lines of the report that no count says. */
  readonly remarks: readonly string[];
}

export interface Finding {
  readonly name: string;
  readonly reason: string;
}

export interface LeftOut {
  readonly reason: string;
  readonly names: readonly string[];
  /** Whether the report lists the names or only counts them. */
  readonly listing: "names" | "count";
}

/** Collects the outcomes of a suite's cases. */
export interface Tally {
  pass(): void;
  fail(name: string, reason: string): void;
  leaveOut(reason: string, name: string, listing?: LeftOut["listing"]): void;
  remark(line: string): void;
  report(): SuiteReport;
}

export function createTally(): Tally {
  const failures: Finding[] = [];
  const leftOut = new Map<string, { readonly names: string[]; readonly listing: LeftOut["listing"] }>();
  const remarks: string[] = [];
  let passed = 0;
  return {
    pass: () => {
      passed += 1;
    },
    fail: (name, reason) => {
      failures.push({ name, reason });
    },
    leaveOut: (reason, name, listing = "names") => {
      const present = leftOut.get(reason);
      if (present === undefined) leftOut.set(reason, { names: [name], listing });
      else present.names.push(name);
    },
    remark: (line) => {
      remarks.push(line);
    },
    report: () => ({
      passed,
      failures,
      leftOut: [...leftOut].map(([reason, entry]) => ({ reason, ...entry })),
      remarks,
    }),
  };
}

/** The first line of whatever was thrown. */
export function reasonOf(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message : String(thrown);
  return text.split("\n", 1)[0] ?? "";
}
