import type { ReactElement, ReactNode } from "react";
import { microphoneFrames } from "../lib/sound.ts";
import type { Listening } from "../lib/use-listening.ts";
import { FileButton } from "./file-button.tsx";

/** Where the sound comes from: a file or the microphone. `children` say what was heard. */
export function SoundSource({
  listening,
  children,
}: {
  readonly listening: Listening;
  readonly children: ReactNode;
}): ReactElement {
  const isLive = listening.source === "microphone";
  return (
    <div className="actions">
      <FileButton label="Sound file" accept="audio/*" onFile={listening.followFile} />
      <button
        type="button"
        className="primary"
        onClick={() => {
          if (isLive) listening.stop();
          else listening.follow("microphone", microphoneFrames);
        }}
      >
        {isLive ? "Stop" : "Listen to the microphone"}
      </button>
      {children}
    </div>
  );
}
