import { InferenceError } from "@naiad/protocol";
import { describeFailure } from "../describe-failure.ts";
import type { LoadedCode } from "../loaded-code.ts";
import { modelClassOf } from "../load-model-class.ts";
import { triton } from "../model/triton.ts";
import type { FileReader } from "../model-host.ts";
import { assembleModules } from "./assemble-modules.ts";
import type { MakeModuleUrl } from "./assemble-modules.ts";

export interface CodePlatform {
  /** The platform's own `import()`. */
  readonly importModule: (url: string) => Promise<Readonly<Record<string, unknown>>>;
  readonly makeModuleUrl: MakeModuleUrl;
  /** Whether a server of ours answers at this address. Absent where there is none. */
  readonly isServed?: (url: string) => Promise<boolean>;
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
 * INTERNAL and the thrown text where they fail.
 */
export async function loadCode(location: CodeLocation, platform: CodePlatform): Promise<LoadedCode> {
  const { path } = location;
  // Before the first line of the model runs.
  globalThis.triton = triton;
  const { url, pathOf } = await addressOf(location, platform);
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await platform.importModule(url);
  } catch (thrown) {
    throw new InferenceError("INTERNAL", describeFailure(thrown, pathOf), { cause: thrown });
  }
  return { modelClass: modelClassOf(module, path), path, pathOf };
}

async function addressOf(
  { path, files, servedAt }: CodeLocation,
  { isServed, makeModuleUrl }: CodePlatform,
): Promise<{ readonly url: string; readonly pathOf: (url: string) => string | undefined }> {
  if (servedAt !== undefined && isServed !== undefined) {
    const url = servedAt + encodedPath(path);
    if (await isServed(url)) {
      return {
        url,
        pathOf: (place) =>
          place.startsWith(servedAt) ? decodeURIComponent(place.slice(servedAt.length)) : undefined,
      };
    }
  }
  const { entryUrl, paths } = await assembleModules(path, files, makeModuleUrl);
  return { url: entryUrl, pathOf: (place) => paths.get(place) };
}

function encodedPath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
