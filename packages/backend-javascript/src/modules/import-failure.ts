import { InferenceError } from "@naiad/protocol";
import { failureText, framesOf } from "../describe-failure.ts";
import { checkImports } from "./check-imports.ts";
import type { CodeLocation, CodePlatform } from "./load-code.ts";
import { syntaxErrorPlace } from "./syntax-error-place.ts";

/** Where a model's main module is imported from. */
export interface ModuleAddress {
  /** By a server, or made of the modules' texts. */
  readonly kind: "served" | "assembled";
  readonly url: string;
  /** The file of the model that stands behind an address. */
  readonly pathOf: (url: string) => string | undefined;
  /** The text with the names of files in the place of their addresses. */
  readonly withPaths: (text: string) => string;
}

/**
 * Why a model's modules could not be imported, with file and line. Engines name the main module alone where an import of
 * an import is not found, and nothing at all where a text is no JavaScript.
 */
export async function importFailure(
  thrown: unknown,
  address: ModuleAddress,
  { path, files }: CodeLocation,
  platform: CodePlatform,
): Promise<InferenceError> {
  const frames = framesOf(thrown, address.pathOf);
  if (frames.length === 0 && thrown instanceof SyntaxError) {
    const place = platform.placeOf?.(thrown);
    const file = place && address.pathOf(place.url);
    if (file !== undefined) {
      const text = address.withPaths(failureText(thrown, []));
      return internal(`${file}:${place?.line ?? 1}:${place?.column ?? 1}: ${text}`, thrown);
    }
    if (platform.placeInText !== undefined) {
      const found = await syntaxErrorPlace(path, files, platform.placeInText).catch(() => undefined);
      if (found !== undefined) return internal(`${found}: ${failureText(thrown, [])}`, thrown);
    }
  }
  if (frames.length === 0 && thrown instanceof Error) {
    try {
      await checkImports(path, files);
    } catch (found) {
      return InferenceError.from(found);
    }
    if (address.kind === "assembled" && !(await importsAnything(platform))) return internal(BLOCKED, thrown);
  }
  const outermost = frames.length - 1;
  const named = frames.map((frame, index) =>
    // Whatever else has no name is called by something, and a module's own code is not.
    index === outermost && frame.name === "" ? { ...frame, name: "<module>" } : frame,
  );
  return internal(address.withPaths(failureText(thrown, named)), thrown);
}

const BLOCKED =
  "the content security policy forbids scripts at `blob:` addresses, where a model's modules come from without a service " +
  "worker: its script-src needs `blob:`";

/** Whether a module that is made of its text can be imported at all. */
async function importsAnything({ importModule, makeModuleUrl }: CodePlatform): Promise<boolean> {
  try {
    await importModule(makeModuleUrl("export {};", "text/javascript"));
    return true;
  } catch {
    return false;
  }
}

function internal(message: string, cause: unknown): InferenceError {
  return new InferenceError("INTERNAL", message, { cause });
}
