import type { ReactElement } from "react";
import { useState } from "react";
import type { Moment } from "../lib/hear-voice.ts";
import type { StepTimes } from "../lib/measure-steps.ts";
import { measureSteps } from "../lib/measure-steps.ts";
import { FRAME, SAMPLE_RATE } from "../lib/sound.ts";
import { NUMBERS, PIECE, soundFeatures } from "../lib/sound-features.ts";
import { useListening } from "../lib/use-listening.ts";
import type { InferResult } from "../lib/v2.ts";
import type { EmbeddedPiece } from "./embedding-chart.tsx";
import { EmbeddingChart } from "./embedding-chart.tsx";
import type { RunnerProps } from "./model-view.tsx";
import { PipelineSteps } from "./pipeline-steps.tsx";
import { FileDrop } from "./file-drop.tsx";
import { SoundSource } from "./sound-source.tsx";
import { VoiceChart } from "./voice-chart.tsx";

const STEPS = [
  { model: "sound_scale", does: "brings the samples into the spectrogram's range" },
  { model: "mel_spectrogram", does: "makes 32 bands of every 10 ms" },
  { model: "sound_windows", does: "cuts windows of 0.76 s" },
  { model: "wake_embedding", does: "makes 96 numbers of each window" },
  { model: "voice_frames", does: "asks for every 32 ms, beside the others" },
  { model: "silero_vad", does: "hears whether somebody speaks" },
];

/** What is known of a stream so far. */
interface Heard {
  readonly moments: readonly Moment[];
  readonly pieces: readonly EmbeddedPiece[];
}

const NOTHING: Heard = { moments: [], pieces: [] };
/** Pieces that are kept: a minute and a half. */
const KEPT = 46;

/** Sound from a file or the microphone to embeddings, with the voice detector beside them. */
export function SoundFeatures({ model, perform }: RunnerProps): ReactElement {
  const [heard, setHeard] = useState(NOTHING);
  const [times, setTimes] = useState<readonly StepTimes[]>([]);
  const listening = useListening(async ({ frames, isCurrent }) => {
    setHeard(NOTHING);
    const hear = async (): Promise<InferResult> => {
      let last: InferResult | undefined;
      for await (const { embeddings, moments, result } of soundFeatures(model, frames())) {
        last = result;
        if (!isCurrent()) continue;
        setHeard((before) => ({
          moments: [...before.moments, ...moments].slice(-KEPT * PIECE),
          pieces: [...before.pieces, { frames: moments.length, embeddings }].slice(-KEPT),
        }));
      }
      if (last === undefined) throw new Error("there is not a single frame of sound in it");
      return last;
    };
    await perform(async () => {
      const { result, steps } = await measureSteps(
        STEPS.map((step) => step.model),
        hear,
      );
      if (isCurrent()) setTimes(steps);
      return result;
    });
  });

  return (
    <FileDrop className="pipeline voice" onFile={listening.followFile}>
      <VoiceChart moments={heard.moments} />
      <EmbeddingChart pieces={heard.pieces} />
      <SoundSource listening={listening}>
        {heard.moments.length === 0 ? (
          <span className="quiet">
            Open or drop a recording, or speak: every two seconds are one request.
          </span>
        ) : (
          <output data-testid="heard">{summary(heard)}</output>
        )}
      </SoundSource>
      <PipelineSteps steps={STEPS} times={times} />
    </FileDrop>
  );
}

function summary({ moments, pieces }: Heard): string {
  const seconds = (count: number): string => ((count * FRAME) / SAMPLE_RATE).toFixed(1);
  const spoken = moments.filter(({ probability }) => probability > 0.5).length;
  const windows = pieces.reduce((sum, { embeddings }) => sum + embeddings.length / NUMBERS, 0);
  return `speech in ${seconds(spoken)} of ${seconds(moments.length)} s, ${windows} windows`;
}
