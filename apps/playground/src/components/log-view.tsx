import type { ReactElement } from "react";
import type { LogEntry } from "../lib/use-server.ts";

export function LogView({ entries }: { readonly entries: readonly LogEntry[] }): ReactElement {
  return (
    <details className="card log" open={entries.some(({ level }) => level === "error")}>
      <summary>Server log ({entries.length})</summary>
      <ol>
        {entries.map(({ id, level, message, epochMs }) => (
          <li key={id} className={level}>
            <time>{new Date(epochMs).toLocaleTimeString()}</time> {message}
          </li>
        ))}
      </ol>
    </details>
  );
}
