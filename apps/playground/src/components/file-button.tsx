import type { ReactElement } from "react";

/** A button by which the visitor gives a file. */
export function FileButton({
  label,
  accept,
  onFile,
}: {
  readonly label: string;
  /** Kinds of file, as the `input` element has them. */
  readonly accept: string;
  readonly onFile: (file: File) => void;
}): ReactElement {
  return (
    <label className="button">
      {label}
      <input
        type="file"
        accept={accept}
        hidden
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          // The same file may be chosen again.
          event.target.value = "";
          if (file !== undefined) onFile(file);
        }}
      />
    </label>
  );
}
