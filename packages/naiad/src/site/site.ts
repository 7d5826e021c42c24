import { join } from "node:path";
import { printManifest } from "@naiad/core";
import type { HashCache } from "../hash-file.ts";
import { createRepositoryScanner } from "../repository-scanner.ts";
import type { Headers } from "./send.ts";

export interface SiteOptions {
  /** URL path of the app, with slashes at both ends. */
  readonly base: string;
  /** Folder of the workers below `base`, with a slash at its end. */
  readonly assets: string;
  /** The service worker's script below `base`; `undefined` where the app has its own. */
  readonly serviceWorker: string | undefined;
  /** Directories by their URL path below `base`, with a slash at its end. */
  readonly repositories: ReadonlyMap<string, string>;
  /** The built package's `dist`. */
  readonly distDirectory: string;
  /** onnxruntime-web's `dist`. */
  readonly ortDirectory: string;
  readonly onWarning: (message: string) => void;
}

/** A file of the site: where it comes from, and where below `base` it appears. */
export interface SiteFile {
  readonly urlPath: string;
  readonly path: string;
  readonly headers: Headers;
  /** Source maps, for example, may be absent from a package. */
  readonly optional: boolean;
}

export type Resolution =
  | { readonly kind: "file"; readonly path: string; readonly headers: Headers }
  /** The manifest of a model repository, made on the fly. */
  | { readonly kind: "manifest"; readonly directory: string }
  /** A path in our charge with nothing at it. */
  | { readonly kind: "missing" }
  | { readonly kind: "foreign" };

/** Everything that a page with Naiad needs from its origin besides the page. */
export interface Site {
  /** What stands at the path of a request, as it was sent: undecoded, without query. */
  resolve(rawPath: string): Resolution;
  readonly files: readonly SiteFile[];
  /** The text of a repository's `index.json` now. */
  manifestText(directory: string): Promise<string>;
}

const WORKERS: readonly string[] = [
  "host",
  "instance-wasm",
  "instance-jspi",
  "instance-asyncify",
  "instance-javascript",
];
const ORT_BUILDS: readonly string[] = ["", ".jspi", ".asyncify"];

export function createSite(options: SiteOptions): Site {
  const { base, onWarning, repositories } = options;
  const files = siteFiles(options);
  const fileAt = new Map(files.map((file) => [file.urlPath, file]));
  const cache: HashCache = new Map();
  const scanners = new Map<string, ReturnType<typeof createRepositoryScanner>>();

  return {
    files,

    resolve(rawPath) {
      if (!rawPath.startsWith(base)) return { kind: "foreign" };
      const urlPath = rawPath.slice(base.length);
      const file = fileAt.get(urlPath);
      if (file !== undefined) return { kind: "file", path: file.path, headers: file.headers };
      if (urlPath.startsWith(options.assets)) return { kind: "missing" };
      for (const [prefix, directory] of repositories) {
        if (urlPath.startsWith(prefix)) return resolveInRepository(directory, urlPath.slice(prefix.length));
      }
      return { kind: "foreign" };
    },

    async manifestText(directory) {
      let scan = scanners.get(directory);
      if (scan === undefined) {
        scan = createRepositoryScanner(directory, { cache, onWarning });
        scanners.set(directory, scan);
      }
      return `${printManifest(await scan())}\n`;
    },
  };
}

function siteFiles({
  assets,
  base,
  distDirectory,
  ortDirectory,
  serviceWorker,
}: SiteOptions): readonly SiteFile[] {
  const files: SiteFile[] = [];
  const add = (urlPath: string, path: string, more: Partial<SiteFile> = {}): void => {
    files.push({ urlPath, path, headers: {}, optional: false, ...more });
  };
  for (const name of WORKERS) {
    const path = join(distDirectory, "workers", `${name}.js`);
    add(`${assets}workers/${name}.js`, path);
    add(`${assets}workers/${name}.js.map`, `${path}.map`, { optional: true });
  }
  for (const build of ORT_BUILDS) {
    for (const type of ["mjs", "wasm"]) {
      const name = `ort-wasm-simd-threaded${build}.${type}`;
      add(`${assets}ort/${name}`, join(ortDirectory, name));
    }
  }
  if (serviceWorker !== undefined) {
    const path = join(distDirectory, "naiad-sw.js");
    // The scope of a service worker ends at its own folder unless this header widens it.
    add(serviceWorker, path, { headers: { "service-worker-allowed": base } });
    const folder = serviceWorker.slice(0, serviceWorker.lastIndexOf("/") + 1);
    add(`${folder}naiad-sw.js.map`, `${path}.map`, { optional: true });
  }
  return files;
}

/** Never leads out of the directory, and to hidden files as little as the manifest does. */
function resolveInRepository(directory: string, rawPath: string): Resolution {
  if (rawPath === "index.json") return { kind: "manifest", directory };
  const segments = rawPath.split("/").map(decodeSegment);
  if (!segments.every(isFileName)) return { kind: "missing" };
  return { kind: "file", path: join(directory, ...segments), headers: {} };
}

function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

function isFileName(segment: string | undefined): segment is string {
  return segment !== undefined && segment !== "" && !segment.startsWith(".") && !/[/\\\0]/.test(segment);
}
