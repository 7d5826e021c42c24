import { joinedPath } from "@naiad/model-config";

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
 * A path that comes with a load request, worked out, or `undefined` when it leaves the model's directory. Those of a manifest
 * are never worked out but refused.
 */
export function normalizeModelPath(path: string): string | undefined {
  return path.startsWith("/") || /[\\\0]/.test(path) ? undefined : joinedPath(path);
}
