import type { LoadedCode } from "../loaded-code.ts";
import { modelClassOf } from "../load-model-class.ts";
import { triton } from "../model/triton.ts";
import type { FileReader } from "../model-host.ts";
import { assembleModules } from "./assemble-modules.ts";
import type { MakeModuleUrl } from "./assemble-modules.ts";
import type { ModuleAddress } from "./import-failure.ts";
import { importFailure } from "./import-failure.ts";

/** A place in a text, counted from 1. */
interface TextPlace {
  readonly line: number;
  readonly column: number;
}

interface ModulePlace extends TextPlace {
  readonly url: string;
}

export interface CodePlatform {
  /** The platform's own `import()`. */
  readonly importModule: (url: string) => Promise<Readonly<Record<string, unknown>>>;
  readonly makeModuleUrl: MakeModuleUrl;
  /** Whether a server of ours answers at this address. Absent where there is none. */
  readonly isServed?: (url: string) => Promise<boolean>;
  /** Where a module is no JavaScript: the error itself does not tell. Absent where the platform does not tell either. */
  readonly placeOf?: (thrown: SyntaxError) => ModulePlace | undefined;
  /** Where the text of a module is no JavaScript, if it is none. Runs nothing of it. Absent where errors tell their places. */
  readonly placeInText?: (text: string) => Promise<TextPlace | undefined>;
}

export interface CodeLocation {
  /** Of the main file, in the model's directory. */
  readonly path: string;
  readonly files: FileReader;
  /** Where the model's directory is served, with a slash at its end, if it is. */
  readonly servedAt?: string;
}

/**
 * Runs a model's modules and gives its class. They come from the server's address where that answers, so that a page's
 * content security policy may stay as strict as `script-src 'self'`, else from addresses made of their text. Rejects with
 * INTERNAL and the thrown text where they fail, with INVALID_ARG where they do not fit together; both name file and line.
 */
export async function loadCode(location: CodeLocation, platform: CodePlatform): Promise<LoadedCode> {
  const { path } = location;
  // Before the first line of the model runs.
  globalThis.triton = triton;
  const address = await addressOf(location, platform);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await platform.importModule(address.url);
  } catch (thrown) {
    throw await importFailure(thrown, address, location, platform);
  }
  return { modelClass: modelClassOf(module, path), path, pathOf: address.pathOf };
}

async function addressOf(
  { path, files, servedAt }: CodeLocation,
  { isServed, makeModuleUrl }: CodePlatform,
): Promise<ModuleAddress> {
  if (servedAt !== undefined && isServed !== undefined) {
    const url = servedAt + encodedPath(path);
    if (await isServed(url)) {
      return {
        kind: "served",
        url,
        pathOf: (place) =>
          place.startsWith(servedAt) ? decodeURIComponent(place.slice(servedAt.length)) : undefined,
        withPaths: (text) => text.replaceAll(servedAt, ""),
      };
    }
  }
  const { entryUrl, paths } = await assembleModules(path, files, makeModuleUrl);
  return {
    kind: "assembled",
    url: entryUrl,
    pathOf: (place) => paths.get(place),
    withPaths: (text) => [...paths].reduce((told, [url, imported]) => told.replaceAll(url, imported), text),
  };
}

function encodedPath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
