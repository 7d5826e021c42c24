import type { ReactElement } from "react";
import { useEffect, useRef } from "react";
import { NUMBERS } from "../lib/sound-features.ts";
import { SHORTEST } from "./voice-chart.tsx";

export interface EmbeddedPiece {
  /** How long it is, in frames of the voice detector. */
  readonly frames: number;
  /** [windows, 96] */
  readonly embeddings: Float32Array;
}

/** What the numbers of an embedding mostly lie between, on both sides of zero. */
const RANGE = 30;

/**
 * Under a voice chart of the same frames: each piece's windows from left to right, their numbers from top to bottom, stronger where
 * a number is larger, in another colour below zero.
 */
export function EmbeddingChart({ pieces }: { readonly pieces: readonly EmbeddedPiece[] }): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (canvas.current === null || context === null || context === undefined) return;
    const style = getComputedStyle(canvas.current);
    const [above, below] = [style.getPropertyValue("--compute"), style.getPropertyValue("--queue")];
    canvas.current.width = Math.max(
      SHORTEST,
      pieces.reduce((sum, { frames }) => sum + frames, 0),
    );
    let start = 0;
    for (const { frames, embeddings } of pieces) {
      const width = (frames * NUMBERS) / embeddings.length;
      for (const [index, value] of embeddings.entries()) {
        const window = Math.floor(index / NUMBERS);
        context.fillStyle = value > 0 ? above : below;
        context.globalAlpha = Math.min(1, Math.abs(value) / RANGE);
        context.fillRect(start + window * width, index % NUMBERS, width, 1);
      }
      start += frames;
    }
  }, [pieces]);
  return (
    <canvas
      ref={canvas}
      className="embeddings"
      width={SHORTEST}
      height={NUMBERS}
      role="img"
      aria-label="Embeddings over time"
    />
  );
}
