import type { ReactElement } from "react";
import { durationText } from "../lib/format.ts";
import type { StepTimes } from "../lib/measure-steps.ts";

/** The models of a pipeline in their order: what each does, and after a run how long it took and how it batched. */
export function PipelineSteps({
  steps,
  times,
}: {
  readonly steps: readonly { readonly model: string; readonly does: string }[];
  readonly times: readonly StepTimes[];
}): ReactElement {
  const longest = Math.max(1, ...times.map(({ queueNs, computeNs }) => queueNs + computeNs));
  return (
    <ol className="steps" aria-label="Steps">
      {steps.map(({ model, does }) => {
        const time = times.find((each) => each.model === model && each.requests > 0);
        return (
          <li key={model}>
            <span>
              <code>{model}</code> <span className="quiet">{does}</span>
            </span>
            {time !== undefined && (
              <>
                <span className="step-bar" aria-hidden="true">
                  <span className="part queue" style={{ width: `${(time.queueNs / longest) * 100}%` }} />
                  <span className="part compute" style={{ width: `${(time.computeNs / longest) * 100}%` }} />
                </span>
                <span className="step-times">
                  {durationText(time.computeNs / time.requests)}
                  <small>
                    {time.requests === 1 ? "" : `each, ${time.requests} in ${time.executions} executions`}
                  </small>
                </span>
              </>
            )}
          </li>
        );
      })}
    </ol>
  );
}
