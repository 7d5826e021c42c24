import { useEffect, useRef, useState } from "react";
import type { Frame } from "./sound.ts";
import { fileFrames } from "./sound.ts";

export type SoundSource = "file" | "microphone";

/** One sound that is followed from its start until it ends or another takes its place. */
export interface Following {
  /** Ends when the sound is stopped or replaced. */
  readonly frames: () => Iterable<Frame> | AsyncIterable<Frame>;
  /** No other sound has taken its place. */
  readonly isCurrent: () => boolean;
}

type OpenSound = (signal: AbortSignal) => Iterable<Frame> | AsyncIterable<Frame>;

export interface Listening {
  /** What is listened to now. */
  readonly source: SoundSource | undefined;
  /** Stops what is listened to, and follows this. */
  follow(source: SoundSource, open: OpenSound): void;
  readonly followFile: (file: Blob) => void;
  stop(): void;
}

/** Follows one sound at a time; the one before is given up, as is the last when the view goes. */
export function useListening(hear: (sound: Following) => Promise<void>): Listening {
  const [source, setSource] = useState<SoundSource>();
  const current = useRef<AbortController>(undefined);
  useEffect(() => () => current.current?.abort(), []);

  const followSound = async (from: SoundSource, open: OpenSound): Promise<void> => {
    current.current?.abort();
    const ended = new AbortController();
    current.current = ended;
    const isCurrent = (): boolean => current.current === ended;
    setSource(from);
    await hear({ frames: () => open(ended.signal), isCurrent });
    if (isCurrent()) setSource(undefined);
  };
  const follow = (from: SoundSource, open: OpenSound): void => void followSound(from, open);

  return {
    source,
    follow,
    followFile: (file) => {
      follow("file", async function* (signal) {
        for (const frame of await fileFrames(file)) {
          // What is left of it is not sent; the server forgets the sequence when it has been idle.
          if (signal.aborted) return;
          yield frame;
        }
      });
    },
    stop: () => current.current?.abort(),
  };
}
