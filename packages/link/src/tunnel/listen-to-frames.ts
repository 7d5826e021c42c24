import type { StatusCode } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { Frame } from "./frame.ts";
import { splitFrames } from "./frame.ts";
import type { TunnelLine } from "./line.ts";

export interface FrameListener {
  /** For texts. */
  readonly peer: string;
  /** What the loss of the line means at this end. */
  readonly lossCode: StatusCode;
  /** Throws where a frame is none for this end. */
  readonly accept: (frame: Frame) => void;
  readonly close: (reason: InferenceError) => void;
}

/** Hands on each frame that comes over `line`, until it ends or something comes that is no frame for this end: both close it. */
export function listenToFrames(line: TunnelLine, { peer, lossCode, accept, close }: FrameListener): void {
  line.listen(
    (message) => {
      try {
        for (const frame of splitFrames(message)) accept(frame);
      } catch (thrown) {
        close(InferenceError.from(thrown));
      }
    },
    (reason) => {
      close(new InferenceError(lossCode, `the connection to ${peer} is lost: ${reason}`));
    },
  );
}
