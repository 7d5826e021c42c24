import type { ReactElement } from "react";
import { useState } from "react";
import type { Moment } from "../lib/hear-voice.ts";
import { hearVoice } from "../lib/hear-voice.ts";
import { FRAME, SAMPLE_RATE } from "../lib/sound.ts";
import { useListening } from "../lib/use-listening.ts";
import type { InferResult } from "../lib/v2.ts";
import type { RunnerProps } from "./model-view.tsx";
import { FileDrop } from "./file-drop.tsx";
import { SoundSource } from "./sound-source.tsx";
import { VoiceChart } from "./voice-chart.tsx";

/** Frames that are kept: a minute and a half. */
const KEPT = 3_000;

/** Silero VAD on a sound file or on the microphone: one sequence for each. */
export function VoiceDetection({ model, perform }: RunnerProps): ReactElement {
  const [moments, setMoments] = useState<readonly Moment[]>([]);
  const listening = useListening(async ({ frames, isCurrent }) => {
    setMoments([]);
    await perform(async () => {
      let last: InferResult | undefined;
      for await (const { moment, result } of hearVoice(model, frames())) {
        last = result;
        if (isCurrent()) setMoments((before) => [...before, moment].slice(-KEPT));
      }
      if (last === undefined) throw new Error("there is not a single frame of sound in it");
      return last;
    });
  });

  return (
    <FileDrop className="voice" onFile={listening.followFile}>
      <VoiceChart moments={moments} />
      <SoundSource listening={listening}>
        {moments.length === 0 ? (
          <span className="quiet">Open or drop a recording, or speak. Each is a sequence of its own.</span>
        ) : (
          <output data-testid="speech">{summary(moments)}</output>
        )}
      </SoundSource>
    </FileDrop>
  );
}

function summary(moments: readonly Moment[]): string {
  const seconds = (count: number): string => ((count * FRAME) / SAMPLE_RATE).toFixed(1);
  const spoken = moments.filter(({ probability }) => probability > 0.5).length;
  return `speech in ${seconds(spoken)} of ${seconds(moments.length)} s`;
}
