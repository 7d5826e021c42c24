import type { Flag } from "./flags.ts";
import { FLAG_GROUPS } from "./flags.ts";

export const SERVE_SUMMARY: string =
  "Serve a model repository on ports, from a browser that runs behind them";

const WIDTH = 110;
const INDENT = 6;

/** The text of `naiad serve --help`. */
export function serveHelp(): string {
  const groups = FLAG_GROUPS.map(({ title, flags }) =>
    [
      `${title}:`,
      ...Object.entries(flags).flatMap(([name, flag]) => [head(name, flag), ...wrap(flag.help)]),
    ].join("\n"),
  );
  return `${SERVE_SUMMARY}.

Usage: naiad serve --model-repository DIR [options]

Starts a headless Chrome or Chromium, loads the models there, and answers Triton's API on ports of this machine: HTTP on
8000, gRPC on 8001, metrics on 8002. Options are those of tritonserver; those marked * are Naiad's own.

${groups.join("\n\n")}`;
}

function head(name: string, { kind, own, repeats, value }: Flag): string {
  const shown = value ?? valueOf(kind);
  const text = shown === undefined ? "" : kind === "boolean" ? `[=${shown}]` : ` ${shown}`;
  return `  --${name}${text}${repeats === true ? " ..." : ""}${own === true ? " *" : ""}`;
}

function valueOf(kind: Flag["kind"]): string | undefined {
  switch (kind) {
    case "switch":
      return undefined;
    case "boolean":
      return "true|false";
    case "count":
    case "level":
      return "NUMBER";
    case "port":
      return "PORT";
    case "text":
    case "filled":
      return "TEXT";
    default:
      return kind.join("|");
  }
}

function wrap(text: string): readonly string[] {
  const lines: string[] = [];
  let line = " ".repeat(INDENT);
  for (const word of text.split(" ")) {
    if (line.length + word.length > WIDTH) {
      lines.push(line.trimEnd());
      line = " ".repeat(INDENT);
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()];
}
