import type { ReactElement, ReactNode } from "react";
import { microphoneFrames } from "../lib/sound.ts";
import type { Listening } from "../lib/use-listening.ts";

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
      <label className="button">
        Sound file
        <input
          type="file"
          accept="audio/*"
          hidden
          onChange={(event) => {
            const [file] = event.target.files ?? [];
            event.target.value = "";
            if (file !== undefined) listening.followFile(file);
          }}
        />
      </label>
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

/** A part of the view onto which a recording can be dropped. */
export function SoundDrop({
  className,
  listening,
  children,
}: {
  readonly className: string;
  readonly listening: Listening;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <div
      className={className}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        const [file] = event.dataTransfer.files;
        if (file !== undefined) listening.followFile(file);
      }}
    >
      {children}
    </div>
  );
}
