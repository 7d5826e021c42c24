/**
 * The parts put together as Triton joins paths, with `.`, `..` and doubled slashes worked out: a slash in front of a part
 * counts for nothing. `undefined` when the result leaves the directory that the first part lies in, or is that directory.
 */
export function joinedPath(...parts: readonly string[]): string | undefined {
  const segments: string[] = [];
  for (const segment of parts.flatMap((part) => part.split("/"))) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments.length === 0 ? undefined : segments.join("/");
}
