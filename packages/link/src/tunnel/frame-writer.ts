import type { EncodedFrame, Frame } from "./frame.ts";
import { encodeFrame, frameByteLength, joinFrames, PIECE_BYTES } from "./frame.ts";
import type { Defer, TunnelLine } from "./line.ts";

export type WriteFrame = (frame: Frame) => void;

/**
 * Frames that are written in one turn go out in one message: a short request is three frames, and each message costs a wake-up
 * of the other end.
 */
export function createFrameWriter(line: Pick<TunnelLine, "send">, defer: Defer): WriteFrame {
  let waiting: EncodedFrame[] = [];
  let waitingBytes = 0;

  function flush(): void {
    if (waiting.length === 0) return;
    const frames = waiting;
    waiting = [];
    waitingBytes = 0;
    line.send(joinFrames(frames));
  }

  return (frame) => {
    const encoded = encodeFrame(frame);
    if (waiting.length === 0) defer(flush);
    waiting.push(encoded);
    waitingBytes += frameByteLength(encoded);
    if (waitingBytes >= PIECE_BYTES) flush();
  };
}
