import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runProgram } from "./programs.ts";

const INSTALL_MS = 600_000;

/**
 * A Python environment with what a file of requirements names, made once and kept under `cache`. Resolves with its `python`.
 * Rejects with what is missing where none can be made.
 */
export async function pythonEnvironment(
  cache: string,
  name: string,
  requirementsFile: string,
): Promise<string> {
  const requirements = await readFile(requirementsFile);
  const hash = createHash("sha256").update(requirements).digest("hex").slice(0, 12);
  const folder = join(cache, `${name}-${hash}`);
  const python = join(folder, "bin/python");
  await once(folder, async () => {
    const installer = await pythonInstaller(cache);
    await runProgram(installer, ["-m", "venv", "--without-pip", folder]);
    try {
      const uv = join(dirname(installer), "uv");
      await runProgram(uv, ["pip", "install", "--python", python, "-r", requirementsFile], {
        timeoutMs: INSTALL_MS,
        env: { UV_CACHE_DIR: join(cache, "uv") },
      });
    } catch {
      // It does not read what pip is told of mirrors and certificates; and its reasons are worse.
      await pipInstall(installer, ["-r", requirementsFile], ["--python", python]);
    }
  });
  return python;
}

/** Python with pip, and with `uv`, which installs in a tenth of the time, where that can be had. */
async function pythonInstaller(cache: string): Promise<string> {
  const folder = join(cache, "installer");
  const python = join(folder, "bin/python");
  await once(folder, async () => {
    await makeEnvironment(folder);
    await pipInstall(python, ["uv"]).catch(() => undefined);
  });
  return python;
}

/** `options` stand before the command, `args` behind it. */
function pipInstall(
  python: string,
  args: readonly string[],
  options: readonly string[] = [],
): Promise<unknown> {
  const command = [...options, "install", "--quiet", "--disable-pip-version-check", "--no-compile", ...args];
  return runProgram(python, ["-m", "pip", ...command], { timeoutMs: INSTALL_MS });
}

async function makeEnvironment(folder: string): Promise<void> {
  const make = (): Promise<unknown> => runProgram("python3", ["-m", "venv", folder]);
  try {
    await make();
  } catch (error) {
    if (!existsSync("/etc/debian_version")) throw needed(error);
    try {
      await aptGet(["update"]);
      await aptGet(["install", "-y", "--no-install-recommends", "python3", "python3-venv"]);
      await rm(folder, { recursive: true, force: true });
      await make();
    } catch (again) {
      throw needed(again);
    }
  }
}

function needed(cause: unknown): Error {
  return new Error(
    `the clients need Python 3 with its module venv, which is not here: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause },
  );
}

function aptGet(args: readonly string[]): Promise<unknown> {
  return runAsRoot("apt-get", args);
}

function runAsRoot(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const isRoot = process.getuid?.() === 0;
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const command = ["env", ...settings, program, ...args];
  const [first = "", ...rest] = isRoot ? command : ["sudo", "-n", ...command];
  return runProgram(first, rest, { timeoutMs: INSTALL_MS });
}

/** A package from PyPI for a `platform` that this machine may not be, in a folder of its own. Resolves with that folder. */
export async function wheel(cache: string, requirement: string, platform: string): Promise<string> {
  const folder = join(cache, `wheel-${requirement.replace("==", "-")}`);
  await once(folder, async () => {
    const where = ["--target", folder, "--platform", platform, "--only-binary=:all:", "--no-deps"];
    await pipInstall(await pythonInstaller(cache), [...where, requirement]);
  });
  return folder;
}

/** The content of a Debian package, unpacked in a folder of its own and not installed. Resolves with that folder. */
export async function debianPackage(cache: string, name: string): Promise<string> {
  const folder = join(cache, `debian-${name}`);
  await once(folder, async () => {
    const download = (): Promise<unknown> =>
      runProgram("apt-get", ["download", name], { cwd: folder, timeoutMs: INSTALL_MS });
    // A fresh container has no lists of packages.
    await download().catch(() => aptGet(["update"]).then(download));
    const file = (await readdir(folder)).find((one) => one.endsWith(".deb"));
    if (file === undefined) throw new Error(`apt-get has brought no package ${name}`);
    await runProgram("dpkg-deb", ["-x", file, "."], { cwd: folder });
    await rm(join(folder, file));
  });
  return folder;
}

/** Debian 13, with version 2.41 of the C library. */
const NEWER_RELEASE = "trixie";

/**
 * The folder of a whole newer Debian with some packages, made by debootstrap. Nothing in it is installed, nor does it run but for the
 * programs that take its libraries. Making it wants root, or `sudo` without a password.
 */
export async function newerDebian(cache: string, packages: readonly string[]): Promise<string> {
  const tool = await debianPackage(cache, "debootstrap");
  const folder = join(cache, `debian-${NEWER_RELEASE}`);
  await once(folder, async () => {
    const options = ["--foreign", "--variant=minbase", `--include=${packages.join(",")}`];
    await runAsRoot(join(tool, "usr/sbin/debootstrap"), [...options, NEWER_RELEASE, folder], {
      DEBOOTSTRAP_DIR: join(tool, "usr/share/debootstrap"),
    });
    const user = `${String(process.getuid?.() ?? 0)}:${String(process.getgid?.() ?? 0)}`;
    await runAsRoot("chown", ["-R", user, folder]);
    await rm(join(folder, "var/cache/apt/archives"), { recursive: true, force: true });
  });
  return folder;
}

/** Fills a folder once and for all; a try that broke off is begun anew. */
async function once(folder: string, fill: () => Promise<void>): Promise<void> {
  const stamp = join(folder, "complete");
  if (existsSync(stamp)) return;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await fill();
  await writeFile(stamp, "");
}
