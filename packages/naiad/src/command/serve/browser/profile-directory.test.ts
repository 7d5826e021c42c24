import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { makeProfileDirectory } from "./profile-directory.ts";

const parents: string[] = [];
afterEach(async () => {
  for (const parent of parents.splice(0)) await rm(parent, { recursive: true });
});

async function newParent(): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "profiles-"));
  parents.push(parent);
  return parent;
}

/** Of a process that has ended. */
function endedPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

/** A profile as a command leaves it; `change` is what differs from one of this process. */
async function leave(parent: string, name: string, change: object): Promise<void> {
  const own = await makeProfileDirectory(await newParent());
  const owner = JSON.parse(await readFile(join(own, "owner.json"), "utf8")) as object;
  await mkdir(join(parent, name, "Default"), { recursive: true });
  await writeFile(join(parent, name, "owner.json"), JSON.stringify({ ...owner, ...change }));
}

describe("the directory of a browser's profile", () => {
  it("takes the place of those that killed commands left", async () => {
    const parent = await newParent();
    await leave(parent, "naiad-browser-dead", { pid: endedPid() });
    const directory = await makeProfileDirectory(parent);
    expect(await readdir(parent)).toEqual([directory.slice(parent.length + 1)]);
  });

  it("leaves those alone that may be somebody's", async () => {
    const parent = await newParent();
    await leave(parent, "naiad-browser-running", { pid: process.pid });
    await leave(parent, "naiad-browser-container", { pid: endedPid(), place: "elsewhere" });
    await leave(parent, "somebody-else", { pid: endedPid() });
    await mkdir(join(parent, "naiad-browser-unknown"));
    await mkdir(join(parent, "naiad-browser-broken"));
    await writeFile(join(parent, "naiad-browser-broken", "owner.json"), "{");
    await mkdir(join(parent, "naiad-browser-other"));
    await writeFile(join(parent, "naiad-browser-other", "owner.json"), "[1]");
    const before = await readdir(parent);
    const directory = await makeProfileDirectory(parent);
    expect((await readdir(parent)).sort()).toEqual([...before, directory.slice(parent.length + 1)].sort());
  });
});
