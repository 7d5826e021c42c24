export function byteText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(0)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function durationText(nanoseconds: number): string {
  if (nanoseconds < 1_000_000) return `${(nanoseconds / 1_000).toFixed(0)} µs`;
  return `${(nanoseconds / 1_000_000).toFixed(nanoseconds < 10_000_000 ? 2 : 1)} ms`;
}

/** JSON with lists of plain values on one line. */
export function pretty(value: unknown): string {
  const text = (JSON.stringify(value, undefined, 2) as string | undefined) ?? "";
  return text.replace(
    /\[\s+([^[\]{}]*?)\s+\]/g,
    (_, inner: string) => `[${inner.replace(/\s*\n\s*/g, " ")}]`,
  );
}
