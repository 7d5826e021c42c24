import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
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
  const folder = join(
    cache,
    `${name}-${createHash("sha256").update(requirements).digest("hex").slice(0, 12)}`,
  );
  const python = join(folder, "bin/python");
  const stamp = join(folder, "complete");
  if (existsSync(stamp)) return python;
  await rm(folder, { recursive: true, force: true });
  await makeEnvironment(folder);
  const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirementsFile];
  await runProgram(python, install, { timeoutMs: INSTALL_MS });
  await writeFile(stamp, "");
  return python;
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
  const isRoot = process.getuid?.() === 0;
  return runProgram(isRoot ? "apt-get" : "sudo", isRoot ? args : ["-n", "apt-get", ...args], {
    timeoutMs: INSTALL_MS,
  });
}

/** The content of a Debian package, unpacked in a folder of its own and not installed. Resolves with that folder. */
export async function debianPackage(cache: string, name: string): Promise<string> {
  const folder = join(cache, `debian-${name}`);
  const stamp = join(folder, "complete");
  if (existsSync(stamp)) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const download = (): Promise<unknown> =>
    runProgram("apt-get", ["download", name], { cwd: folder, timeoutMs: INSTALL_MS });
  // A fresh container has no lists of packages.
  await download().catch(() => aptGet(["update"]).then(download));
  const file = (await readdir(folder)).find((one) => one.endsWith(".deb"));
  if (file === undefined) throw new Error(`apt-get has brought no package ${name}`);
  await runProgram("dpkg-deb", ["-x", file, "."], { cwd: folder });
  await writeFile(stamp, "");
  return folder;
}
