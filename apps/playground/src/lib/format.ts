export function byteText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(0)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function durationText(nanoseconds: number): string {
  if (nanoseconds < 1_000_000) return `${(nanoseconds / 1_000).toFixed(0)} µs`;
  return `${(nanoseconds / 1_000_000).toFixed(nanoseconds < 10_000_000 ? 2 : 1)} ms`;
}
