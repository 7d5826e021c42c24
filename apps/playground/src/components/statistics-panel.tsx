import type { ReactElement } from "react";
import { durationText } from "../lib/format.ts";
import type { StatisticsView, TimeSplit } from "../lib/use-statistics.ts";

const PARTS = [
  { key: "queue", label: "queue" },
  { key: "input", label: "input" },
  { key: "compute", label: "compute" },
  { key: "output", label: "output" },
] as const;

/** Where the time of the last requests went, and how large the batches were. */
export function StatisticsPanel({ statistics }: { readonly statistics: StatisticsView }): ReactElement {
  const { current, split } = statistics;
  const limits = batchLimits(current?.batch_limits);
  return (
    <section className="card statistics" aria-label="Statistics">
      <div>
        <h3>
          Time of the last{" "}
          {split === undefined || split.requests === 1 ? "request" : `${split.requests} requests`}
        </h3>
        {split === undefined ? (
          <p className="quiet">Run the model to see where the time goes.</p>
        ) : (
          <SplitBar split={split} />
        )}
      </div>
      <div>
        <h3>Batch sizes</h3>
        {current === undefined || current.batch_stats.length === 0 ? (
          <p className="quiet">No executions yet.</p>
        ) : (
          <BatchBars
            batches={current.batch_stats.map((batch) => ({
              size: batch.batch_size,
              count: batch.compute_infer.count,
            }))}
          />
        )}
        {current !== undefined && (
          <p className="quiet">
            {counted(current.inference_count, "inference")} in {counted(current.execution_count, "execution")}
          </p>
        )}
        {limits.length > 0 && (
          <p className="quiet" data-testid="batch-limits">
            Not larger because {limits.map(([why, times]) => `${why} (${times})`).join(", ")}
          </p>
        )}
      </div>
    </section>
  );
}

/** What each reason in `batch_limits` says of a batch. */
const LIMITS: Readonly<Record<string, string>> = {
  full: "full",
  preferred_batch_size: "a preferred size was reached",
  too_large: "the next request did not fit",
  shape: "the next request had another shape",
  no_delay: "nothing else was queued and no delay is configured",
  queue_empty: "the delay passed and nothing else came",
  instance_busy: "nothing else came while every instance was busy",
  not_batching: "the model does not batch",
  retry: "its first execution was lost",
};

/** Most frequent first. */
function batchLimits(
  counts: Readonly<Record<string, number>> = {},
): readonly (readonly [why: string, times: number])[] {
  return Object.entries(counts)
    .filter(([, times]) => times > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([reason, times]) => [LIMITS[reason] ?? reason, times] as const);
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

function SplitBar({ split }: { readonly split: TimeSplit }): ReactElement {
  const total = PARTS.reduce((sum, { key }) => sum + split[key], 0);
  return (
    <>
      <div className="split" role="img" aria-label="Time split">
        {PARTS.map(({ key }) => (
          <span
            key={key}
            className={`part ${key}`}
            style={{ flexGrow: Math.max(split[key] / total, 0.005) }}
          />
        ))}
      </div>
      <dl className="legend">
        {PARTS.map(({ key, label }) => (
          <div key={key}>
            <dt className={key}>{label}</dt>
            <dd>{durationText(split[key])}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function BatchBars({
  batches,
}: {
  readonly batches: readonly { readonly size: number; readonly count: number }[];
}): ReactElement {
  const most = Math.max(...batches.map(({ count }) => count));
  return (
    <ol className="bars">
      {[...batches]
        .sort((a, b) => a.size - b.size)
        .map(({ size, count }) => (
          <li key={size}>
            <span className="bar-label">{size}</span>
            <span className="bar" style={{ width: `${(count / most) * 100}%` }} />
            <span className="bar-count">{count}</span>
          </li>
        ))}
    </ol>
  );
}
