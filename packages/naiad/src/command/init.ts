import { copyFile, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { copyAssets } from "../site/copy-site.ts";
import { ownDirectories } from "../site/package-directories.ts";
import type { PackageDirectories } from "../site/package-directories.ts";
import { createSite } from "../site/site.ts";
import { type CommandIo, type ExitCode, UsageError } from "./command-io.ts";
import { parseCommandLine } from "./parse-command-line.ts";

export const INIT_SUMMARY: string = "Copy the files that a page with Naiad needs into the folder of a site";

const HELP = `${INIT_SUMMARY}.

Usage: naiad init [options] DIRECTORY

For sites without a bundler, and for bundlers without the Vite plugin. Writes into DIRECTORY, which is what the site serves
below its base path:

  naiad-sw.js      the service worker
  naiad/workers/   the workers of the server
  naiad/ort/       ONNX Runtime Web
  naiad/index.js   the SDK, for pages that import it without a bundler

Files that are there are replaced, others are left alone. Run it again after an update of the package: all files must be of
one version.

Options:
      --assets NAME         Folder of everything but the service worker (default: naiad)
      --no-service-worker   For an application that has its own
  -q, --quiet               Print errors only
  -h, --help                Show this help`;

/** The `init` command. */
export async function init(
  argv: readonly string[],
  io: CommandIo,
  directories: () => PackageDirectories = ownDirectories,
): Promise<ExitCode> {
  const { positionals, values } = parseCommandLine(argv, {
    assets: { type: "string" },
    "no-service-worker": { type: "boolean" },
    quiet: { type: "boolean", short: "q" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) {
    io.out(HELP);
    return 0;
  }
  const [directory, extra] = positionals;
  if (directory === undefined) throw new UsageError("the directory of the site is missing");
  if (extra !== undefined) throw new UsageError(`one directory at a time, and there is also '${extra}'`);
  const assets = assetsFolder(values.assets ?? "naiad");
  const serviceWorker = values["no-service-worker"] === true ? undefined : "naiad-sw.js";
  await requireSite(directory);
  await copySite({ directory, assets, serviceWorker }, directories());
  if (values.quiet === true) return 0;
  io.out(
    `wrote ${[serviceWorker, assets].filter((name) => name !== undefined).join(" and ")} to ${directory}`,
  );
  for (const line of await nextSteps(directory, assets, serviceWorker)) io.out(line);
  return 0;
}

interface SiteCopy {
  readonly directory: string;
  /** With a slash at its end. */
  readonly assets: string;
  readonly serviceWorker: string | undefined;
}

async function copySite(
  { directory, assets, serviceWorker }: SiteCopy,
  { dist, ort }: PackageDirectories,
): Promise<void> {
  const site = createSite({
    base: "/",
    assets,
    serviceWorker,
    repositories: new Map(),
    distDirectory: dist,
    ortDirectory: ort,
    onWarning: () => undefined,
  });
  await copyAssets(site, directory);
  await mkdir(join(directory, assets), { recursive: true });
  for (const name of ["index.js", "index.js.map"]) {
    await copyFile(join(dist, name), join(directory, assets, name));
  }
}

function assetsFolder(option: string): string {
  const segments = option.split("/").filter((segment) => segment !== "");
  if (segments.length === 0 || segments.some((segment) => /^\.|[\\:?#%]/.test(segment))) {
    throw new UsageError(`--assets must be the path of a folder in the site, but it is '${option}'`);
  }
  return `${segments.join("/")}/`;
}

/** The folder may be new, its parent must be there: a misspelt path is no place for a site. */
async function requireSite(directory: string): Promise<void> {
  const stats = await stat(directory).catch(() => undefined);
  if (stats?.isDirectory() === false) throw new Error(`'${directory}' is not a directory`);
  if (stats === undefined) await mkdir(directory);
}

async function nextSteps(
  directory: string,
  assets: string,
  serviceWorker: string | undefined,
): Promise<readonly string[]> {
  const options = [
    `modelRepository: "models/"`,
    ...(assets === "naiad/" ? [] : [`assets: "${assets}"`]),
    ...(serviceWorker === undefined ? ["serviceWorker: false"] : []),
  ];
  const hasManifest = (await readdir(join(directory, "models")).catch((): string[] => [])).includes(
    "index.json",
  );
  return [
    ...(hasManifest
      ? []
      : [`put a model repository into ${join(directory, "models")} and run 'naiad index' on it`]),
    "in a page:",
    `  import { startServer } from "./${assets}index.js";`,
    `  const server = await startServer({ ${options.join(", ")} });`,
  ];
}
