import type { DragEvent, ReactElement } from "react";
import { useEffect, useRef, useState } from "react";
import type { Moment } from "../lib/hear-voice.ts";
import { hearVoice } from "../lib/hear-voice.ts";
import type { Frame } from "../lib/sound.ts";
import { fileFrames, FRAME, microphoneFrames, SAMPLE_RATE } from "../lib/sound.ts";
import type { InferResult } from "../lib/v2.ts";
import type { RunnerProps } from "./model-view.tsx";
import { VoiceChart } from "./voice-chart.tsx";

/** Frames that are kept: a minute and a half. */
const KEPT = 3_000;

/** Silero VAD on a sound file or on the microphone: one sequence for each. */
export function VoiceDetection({ model, perform }: RunnerProps): ReactElement {
  const [moments, setMoments] = useState<readonly Moment[]>([]);
  const [listening, setListening] = useState<"file" | "microphone">();
  const current = useRef<AbortController>(undefined);
  useEffect(() => () => current.current?.abort(), []);

  const follow = async (
    source: "file" | "microphone",
    open: (signal: AbortSignal) => Iterable<Frame> | AsyncIterable<Frame>,
  ): Promise<void> => {
    current.current?.abort();
    const ended = new AbortController();
    current.current = ended;
    setMoments([]);
    setListening(source);
    await perform(async () => {
      let last: InferResult | undefined;
      for await (const { moment, result } of hearVoice(model, open(ended.signal))) {
        last = result;
        if (current.current === ended) setMoments((before) => [...before, moment].slice(-KEPT));
      }
      if (last === undefined) throw new Error("there is not a single frame of sound in it");
      return last;
    });
    if (current.current === ended) setListening(undefined);
  };

  const followFile = async (file: Blob): Promise<void> => {
    await follow("file", async function* (signal) {
      for (const frame of await fileFrames(file)) {
        // What is left of it is not sent; the server forgets the sequence when it has been idle.
        if (signal.aborted) return;
        yield frame;
      }
    });
  };

  const drop = (event: DragEvent): void => {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file !== undefined) void followFile(file);
  };

  return (
    <div className="voice" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      <VoiceChart moments={moments} />
      <div className="actions">
        <label className="button">
          Sound file
          <input
            type="file"
            accept="audio/*"
            hidden
            onChange={(event) => {
              const [file] = event.target.files ?? [];
              event.target.value = "";
              if (file !== undefined) void followFile(file);
            }}
          />
        </label>
        <button
          type="button"
          className="primary"
          onClick={() => {
            if (listening === "microphone") current.current?.abort();
            else void follow("microphone", microphoneFrames);
          }}
        >
          {listening === "microphone" ? "Stop" : "Listen to the microphone"}
        </button>
        {moments.length === 0 ? (
          <span className="quiet">Open or drop a recording, or speak. Each is a sequence of its own.</span>
        ) : (
          <output data-testid="speech">{summary(moments)}</output>
        )}
      </div>
    </div>
  );
}

function summary(moments: readonly Moment[]): string {
  const seconds = (count: number): string => ((count * FRAME) / SAMPLE_RATE).toFixed(1);
  const spoken = moments.filter(({ probability }) => probability > 0.5).length;
  return `speech in ${seconds(spoken)} of ${seconds(moments.length)} s`;
}
