/** Where and why a configuration text cannot be read. */
export interface ConfigFault {
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 units, as editors count. */
  readonly column: number;
  readonly reason: string;
  /** What was probably meant: `did you mean "dims"?` */
  readonly hint?: string;
}

export type ConfigReadResult<Config> =
  | { readonly kind: "config"; readonly config: Config }
  | { readonly kind: "fault"; readonly fault: ConfigFault };

/** Line and column of a UTF-16 offset. */
export function positionOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: offset - before.lastIndexOf("\n") };
}

/** `file:line:column: reason`, the form that editors and terminals turn into a link. */
export function formatFault(fileName: string, { line, column, reason, hint }: ConfigFault): string {
  return `${fileName}:${line}:${column}: ${reason}${hint === undefined ? "" : ` (${hint})`}`;
}
