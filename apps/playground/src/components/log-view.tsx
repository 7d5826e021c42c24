import type { ReactElement } from "react";
import { useEffect, useRef } from "react";
import type { LogEntry } from "../lib/use-server.ts";

/** The server's log, which keeps its last line in sight. */
export function LogView({ entries }: { readonly entries: readonly LogEntry[] }): ReactElement {
  const lines = useRef<HTMLOListElement>(null);
  useEffect(() => {
    lines.current?.scrollTo({ top: lines.current.scrollHeight });
  }, [entries]);
  return (
    <details className="card log" open={entries.some(({ level }) => level === "error")}>
      <summary>Server log ({entries.length})</summary>
      <ol ref={lines}>
        {entries.map(({ id, level, message, epochMs }) => (
          <li key={id} className={level}>
            <time>{new Date(epochMs).toLocaleTimeString()}</time> {message}
          </li>
        ))}
      </ol>
    </details>
  );
}
