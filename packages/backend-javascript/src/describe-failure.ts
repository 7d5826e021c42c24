/** A place in a model's code. */
interface Frame {
  /** Of the function; "" where it has none. */
  readonly name: string;
  readonly path: string;
  readonly line: string;
}

/**
 * What was thrown in a model, in the form in which Triton's Python backend tells it: type and message, then the frames of
 * the model's own code. `pathOf` gives the file in the model's directory that a URL stands for.
 */
export function describeFailure(thrown: unknown, pathOf: (url: string) => string | undefined): string {
  return failureText(thrown, framesOf(thrown, pathOf));
}

export function failureText(thrown: unknown, frames: readonly Frame[]): string {
  const text = thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
  if (frames.length === 0) return text;
  const lines = frames.map(({ name, path, line }) => `  ${path}(${line}): ${name || "<anonymous>"}\n`);
  return `${text}\n\nAt:\n${lines.join("")}`;
}

/** Chromium and Node write `    at name (url:line:column)`, Firefox and WebKit `name@url:line:column`. */
const FRAME = /^\s*(?:at (?:async )?(?:(.+?) \()?|(.*?)@)?([a-z][a-z\d+.-]*:.+):(\d+):\d+\)?$/;

/** Where in the model's own code it was thrown, innermost first. */
export function framesOf(thrown: unknown, pathOf: (url: string) => string | undefined): readonly Frame[] {
  if (!(thrown instanceof Error)) return [];
  return (thrown.stack ?? "").split("\n").flatMap((text) => {
    const [, atName, plainName, url = "", line = ""] = FRAME.exec(text) ?? [];
    const path = pathOf(url);
    return path === undefined ? [] : [{ name: atName ?? plainName ?? "", path, line }];
  });
}
