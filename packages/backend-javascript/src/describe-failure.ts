/** A place in a model's code. */
interface Frame {
  readonly name: string;
  readonly path: string;
  readonly line: string;
}

/**
 * What was thrown in a model, in the form in which Triton's Python backend tells it: type and message, then the frames of
 * the model's own code. `pathOf` gives the file in the model's directory that a URL stands for.
 */
export function describeFailure(thrown: unknown, pathOf: (url: string) => string | undefined): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const text = `${thrown.name}: ${thrown.message}`;
  const frames = framesOf(thrown.stack ?? "", pathOf);
  if (frames.length === 0) return text;
  return `${text}\n\nAt:\n${frames.map(({ name, path, line }) => `  ${path}(${line}): ${name}\n`).join("")}`;
}

/** Chromium and Node write `    at name (url:line:column)`, Firefox and WebKit `name@url:line:column`. */
const FRAME = /^\s*(?:at (?:async )?(?:(.+?) \()?|(.*?)@)?([a-z][a-z\d+.-]*:.+):(\d+):\d+\)?$/;

function framesOf(stack: string, pathOf: (url: string) => string | undefined): readonly Frame[] {
  return stack.split("\n").flatMap((text) => {
    const [, atName, plainName, url = "", line = ""] = FRAME.exec(text) ?? [];
    const path = pathOf(url);
    return path === undefined ? [] : [{ name: atName ?? plainName ?? "", path, line }];
  });
}
