import type { ReactElement, ReactNode } from "react";

/** A part of the page onto which a file may be dropped. */
export function FileDrop({
  className,
  onFile,
  children,
}: {
  readonly className: string;
  readonly onFile: (file: File) => void;
  readonly children: ReactNode;
}): ReactElement {
  return (
    <div
      className={className}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        const [file] = event.dataTransfer.files;
        if (file !== undefined) onFile(file);
      }}
    >
      {children}
    </div>
  );
}
