import type { ConfigFault, ConfigIssue } from "@naiad/model-config";
import { locateField } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";

/** One thing to say about a model repository. */
export interface RepositoryFinding {
  /** An error keeps a model, or one of its versions, from being served. */
  readonly severity: "error" | "warning";
  readonly modelName: string;
  /** The configuration's path in the model's directory; absent for a finding about the directory. */
  readonly file?: string;
  /** From 1; absent where the file is not at fault or says nothing of it. */
  readonly position?: { readonly line: number; readonly column: number };
  /** Triton's text, where Triton has one. */
  readonly message: string;
  /** What to do. */
  readonly hint?: string;
}

/** What is found out about one configuration. The same is said once. */
export interface FindingSheet {
  /** In the order of their places. */
  readonly findings: readonly RepositoryFinding[];
  readonly hasErrors: boolean;
  fault(fault: ConfigFault): void;
  issue(issue: ConfigIssue): void;
  /** `path`: the field that is to blame, if any is. What is no InferenceError is thrown again. */
  thrown(error: unknown, path: string, hint?: string): void;
  warning(path: string, message: string, hint?: string): void;
  /** What was found for each of these versions; what is not so for all of them is told with its version. */
  merge(versions: readonly VersionFindings[]): void;
}

export interface VersionFindings {
  readonly version: number;
  readonly findings: readonly RepositoryFinding[];
}

export interface SheetSubject {
  readonly modelName: string;
  readonly file: string | undefined;
  readonly text: string;
}

export function createFindingSheet({ modelName, file, text }: SheetSubject): FindingSheet {
  const findings = new Map<string, RepositoryFinding>();

  function add(finding: Pick<RepositoryFinding, "severity" | "message">, path: string, hint?: string): void {
    const position = file === undefined ? undefined : locateField(text, path);
    put({ ...finding, ...(position !== undefined && { position }), ...(hint !== undefined && { hint }) });
  }

  function put(finding: Omit<RepositoryFinding, "modelName" | "file">): void {
    if (findings.has(finding.message)) return;
    findings.set(finding.message, { ...finding, modelName, ...(file !== undefined && { file }) });
  }

  return {
    get findings() {
      return [...findings.values()].sort(byPlace);
    },
    get hasErrors() {
      return [...findings.values()].some(({ severity }) => severity === "error");
    },
    fault: ({ line, column, reason, hint }) => {
      put({
        severity: "error",
        position: { line, column },
        message: `failed to read text proto: ${reason}`,
        ...(hint !== undefined && { hint }),
      });
    },
    issue: ({ path, message, hint }) => {
      add({ severity: "error", message }, path, hint);
    },
    thrown: (error, path, hint) => {
      if (!(error instanceof InferenceError)) throw error;
      add({ severity: "error", message: error.message }, path, hint);
    },
    warning: (path, message, hint) => {
      add({ severity: "warning", message }, path, hint);
    },
    merge: (versions) => {
      for (const finding of versions.flatMap((one) => one.findings)) {
        const { message } = finding;
        const having = versions.filter((one) => one.findings.some((other) => other.message === message));
        const isCommon = having.length === versions.length;
        const which = having.map(({ version }) => version).join(", ");
        put(isCommon ? finding : { ...finding, message: `version ${which}: ${message}` });
      }
    },
  };
}

function byPlace(one: RepositoryFinding, other: RepositoryFinding): number {
  const { line = 1, column = 1 } = one.position ?? {};
  const { line: otherLine = 1, column: otherColumn = 1 } = other.position ?? {};
  return line - otherLine || column - otherColumn;
}
