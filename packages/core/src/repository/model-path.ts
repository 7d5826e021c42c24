/**
 * Why `path` cannot be a file inside a model's directory, or `undefined` when it can: relative, `/` between the
 * segments, no empty, `.` or `..` segment, no backslash and no NUL.
 */
export function pathProblem(path: string): string | undefined {
  if (path.startsWith("/")) return `'${path}' must be relative to the model's directory`;
  for (const segment of path.split("/")) {
    const problem = segmentProblem(segment);
    if (problem !== undefined) return path === segment ? problem : `in '${path}', ${problem}`;
  }
  return undefined;
}

/** Why `segment` cannot be the name of one file, directory or model, or `undefined` when it can. */
export function segmentProblem(segment: string): string | undefined {
  if (segment === "") return "a name must not be empty";
  if (segment === "." || segment === "..") return `'${segment}' is not a name`;
  if (/[/\\\0]/.test(segment)) return `'${segment}' must not contain a slash, backslash or NUL`;
  return undefined;
}

/**
 * `path` with `.`, `..` and doubled slashes worked out, or `undefined` when it leaves the directory it is relative to.
 * For paths that come with a load request; those of a manifest are never worked out but refused.
 */
export function normalizeModelPath(path: string): string | undefined {
  if (path.startsWith("/") || path.includes("\\") || path.includes("\0")) return undefined;
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "" || segment === ".") continue;
    if (segment !== "..") segments.push(segment);
    else if (segments.pop() === undefined) return undefined;
  }
  return segments.length === 0 ? undefined : segments.join("/");
}
