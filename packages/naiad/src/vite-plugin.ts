import { join, resolve } from "node:path";
import { BOOLEAN, STRING, checkOptionKinds, dictionary } from "@naiad/protocol";
import type { OptionKind } from "@naiad/protocol";
import type { Plugin, ResolvedConfig } from "vite";
import { copyAssets, copyRepository } from "./site/copy-site.ts";
import { isolateOrigin, serveSite } from "./site/middleware.ts";
import { ownDirectories } from "./site/package-directories.ts";
import type { PackageDirectories } from "./site/package-directories.ts";
import { createSite, type Site } from "./site/site.ts";

export interface NaiadPluginOptions {
  /**
   * Model repositories: plain directories laid out as for Triton (relative to Vite's root), by the URL path below `base`
   * at which they appear, for example `{ "models": "../../public/models" }`. Their `index.json` is made on the fly, and
   * written by a build.
   */
  readonly modelRepositories?: Readonly<Record<string, string>>;
  /** Path of the service worker below `base`; `true` (default) is `naiad-sw.js`; `false` for an app that has its own. */
  readonly serviceWorker?: boolean | string;
  /**
   * Sends the headers that make pages cross-origin isolated, so that CPU instances can use threads. Default false. A build
   * cannot do this for the host that will serve it: set COOP `same-origin` and COEP `require-corp` there.
   */
  readonly crossOriginIsolation?: boolean;
  /** Folder of the workers below `base`. Default `naiad`. */
  readonly assetsBase?: string;
}

const OPTIONS: { readonly [Name in keyof Required<NaiadPluginOptions>]: OptionKind } = {
  modelRepositories: dictionary({
    text: "the path of a directory",
    holds: (value) => typeof value === "string" && value !== "",
  }),
  serviceWorker: {
    text: "a path, true or false",
    holds: (value) => BOOLEAN.holds(value) || (typeof value === "string" && /[^/]$/.test(value)),
  },
  crossOriginIsolation: BOOLEAN,
  assetsBase: STRING,
};

/**
 * Vite plugin: gives development server, preview server and build everything that `startServer` asks the origin for:
 * prebuilt workers, onnxruntime-web's files, the service worker and model repositories. Throws a `TypeError` that names an option
 * that makes no sense.
 */
export function naiad(
  options: NaiadPluginOptions = {},
  directories: PackageDirectories = ownDirectories(),
): Plugin {
  checkOptionKinds(options, { subject: "the naiad plugin", kinds: OPTIONS });
  let config: ResolvedConfig | undefined;
  let site: Site | undefined;

  const use = ({
    middlewares,
  }: {
    readonly middlewares: { use(handler: ReturnType<typeof serveSite>): unknown };
  }): void => {
    if (options.crossOriginIsolation === true) middlewares.use(isolateOrigin);
    if (site !== undefined) middlewares.use(serveSite(site));
  };

  return {
    name: "naiad",

    configResolved(resolved) {
      config = resolved;
      site = createSite({
        base: urlBase(resolved.base),
        assets: folderPath(options.assetsBase ?? "naiad"),
        serviceWorker: serviceWorkerPath(options.serviceWorker ?? true),
        repositories: repositoriesOf(options, resolved.root),
        distDirectory: directories.dist,
        ortDirectory: directories.ort,
        onWarning: (message) => {
          resolved.logger.warn(`naiad: ${message}`);
        },
      });
    },

    configureServer: use,
    configurePreviewServer: use,

    async writeBundle(output) {
      if (config === undefined || site === undefined || config.build.ssr !== false) return;
      const target = output.dir ?? resolve(config.root, config.build.outDir);
      await copyAssets(site, target);
      for (const [urlPath, directory] of repositoriesOf(options, config.root)) {
        const fromPublic = config.publicDir !== "" && resolve(config.publicDir, urlPath) === directory;
        const filesAreThere = fromPublic && config.build.copyPublicDir;
        await copyRepository(site, { directory, target: join(target, urlPath), filesAreThere });
      }
    },
  };
}

/** The path of `base`, which may also be a URL, or relative for a build that does not know where it will stand. */
function urlBase(base: string): string {
  if (base === "" || base.startsWith(".")) return "/";
  return new URL(base, "http://localhost").pathname;
}

function repositoriesOf(
  { modelRepositories = {} }: NaiadPluginOptions,
  root: string,
): ReadonlyMap<string, string> {
  const repositories = new Map<string, string>();
  for (const [urlPath, directory] of Object.entries(modelRepositories)) {
    const folder = folderPath(urlPath);
    if (folder === "")
      throw new Error(`naiad: the model repository '${directory}' needs a URL folder of its own`);
    repositories.set(folder, resolve(root, directory));
  }
  return repositories;
}

function serviceWorkerPath(option: boolean | string): string | undefined {
  if (option === false) return undefined;
  return option === true ? "naiad-sw.js" : option.replace(/^\/+/, "");
}

/** Without slashes at its beginning, with one at its end. */
function folderPath(path: string): string {
  const inner = path.replace(/^\/+|\/+$/g, "");
  return inner === "" ? "" : `${inner}/`;
}
