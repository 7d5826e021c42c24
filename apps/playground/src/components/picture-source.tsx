import type { ReactElement } from "react";
import { FileButton } from "./file-button.tsx";

/** Buttons that bring a picture file: samples, and one of the visitor's own. */
export function PictureSource({
  samples,
  onPicture,
}: {
  readonly samples: readonly { readonly label: string; readonly open: () => Promise<Blob> }[];
  readonly onPicture: (picture: Blob) => void;
}): ReactElement {
  return (
    <>
      {samples.map(({ label, open }, index) => (
        <button
          key={label}
          type="button"
          className={index === 0 ? "primary" : undefined}
          onClick={() => void open().then(onPicture)}
        >
          {label}
        </button>
      ))}
      <FileButton label="Choose a picture" accept="image/*" onFile={onPicture} />
    </>
  );
}
