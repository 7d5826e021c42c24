import type { ReactElement } from "react";
import type { Moment } from "../lib/hear-voice.ts";

const HEIGHT = 100;
/** Room for the line's own width at 0 and at 1. */
const MARGIN = 2;
/** Frames across the chart before it gets denser: ten seconds. */
export const SHORTEST = 312;

/** Loudness as an area around the middle, the probability of speech as a line over it, and half of it dashed. */
export function VoiceChart({ moments }: { readonly moments: readonly Moment[] }): ReactElement {
  const width = Math.max(moments.length, SHORTEST);
  const line = moments.map(
    ({ probability }, index) => `${index},${MARGIN + (HEIGHT - 2 * MARGIN) * (1 - probability)}`,
  );
  const edge = (sign: 1 | -1): readonly string[] =>
    moments.map(({ loudness }, index) => `${index},${(HEIGHT / 2) * (1 + sign * loudness)}`);
  return (
    <svg
      className="voice-chart"
      viewBox={`0 0 ${width} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label="Probability of speech over time"
    >
      <polygon points={[...edge(-1), ...edge(1).toReversed()].join(" ")} />
      <line x1={0} y1={HEIGHT / 2} x2={width} y2={HEIGHT / 2} />
      <polyline points={line.join(" ")} />
    </svg>
  );
}
