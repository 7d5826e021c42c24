import { readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";

const PREFIX = "naiad-browser-";
/** Names the command that a profile belongs to. */
const OWNER_FILE = "owner.json";

/**
 * A new directory for a browser's profile, below the system's for temporary files. A command that is killed leaves its own behind,
 * with copies of models in it: those of commands that run no more are removed here.
 */
export async function makeProfileDirectory(parent: string = tmpdir()): Promise<string> {
  await removeStale(parent);
  const directory = await mkdtemp(join(parent, PREFIX));
  await writeFile(
    join(directory, OWNER_FILE),
    JSON.stringify({ place: placeOfProcesses(), pid: process.pid }),
  );
  return directory;
}

async function removeStale(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    const directory = join(parent, name);
    if (!name.startsWith(PREFIX) || !isAbandoned(join(directory, OWNER_FILE))) continue;
    // Somebody else's cannot be removed, nor need it be.
    await rm(directory, { recursive: true, force: true, maxRetries: 2 }).catch(() => undefined);
  }
}

/** Whatever cannot be told belongs to somebody. */
function isAbandoned(ownerFile: string): boolean {
  let owner: unknown;
  try {
    owner = JSON.parse(readFileSync(ownerFile, "utf8"));
  } catch {
    return false;
  }
  if (typeof owner !== "object" || owner === null || !("place" in owner) || !("pid" in owner)) return false;
  return owner.place === placeOfProcesses() && typeof owner.pid === "number" && !isRunning(owner.pid);
}

/** Containers may share a directory for temporary files, where a number means another process in each of them. */
function placeOfProcesses(): string {
  try {
    return `${hostname()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return hostname();
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // A process of another user is one too.
    return error instanceof Error && "code" in error && error.code !== "ESRCH";
  }
}
