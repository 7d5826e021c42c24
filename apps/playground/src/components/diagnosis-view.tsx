import { useState } from "react";
import type { ReactElement, ToggleEvent } from "react";
import { diagnose } from "naiad";
import type { Diagnosis } from "naiad";

/** What the SDK finds out about this page, once somebody wants to know. */
export function DiagnosisView(): ReactElement {
  const [diagnosis, setDiagnosis] = useState<Diagnosis>();
  const onToggle = ({ newState }: ToggleEvent<HTMLDetailsElement>): void => {
    if (newState === "open" && diagnosis === undefined) void diagnose().then(setDiagnosis);
  };
  return (
    <details className="card log" onToggle={onToggle}>
      <summary>What this browser can do</summary>
      {diagnosis === undefined ? (
        <p>Looking around…</p>
      ) : (
        <ul>
          {diagnosis.findings.map(({ severity, subject, text }) => (
            <li key={subject} className={FINDING_CLASSES[severity]}>
              <strong>{subject}</strong>: {text}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

/** Those of lines of the log. */
const FINDING_CLASSES = { good: "info", limit: "warning", problem: "error" } as const;
