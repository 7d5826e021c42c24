import { createHash } from "node:crypto";
import { appendFile, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CHUNK_SIZE, parseManifest, printManifest } from "@naiad/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { HashCache } from "./hash-file.ts";
import { scanRepository } from "./repository-manifest.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "naiad-repository-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

async function put(path: string, content: string | Uint8Array = path): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), content);
}

const sha256 = (content: string | Uint8Array): string => createHash("sha256").update(content).digest("hex");

/** `model: directories | files`. */
async function outline(): Promise<{ lines: string[]; warnings: string[] }> {
  const warnings: string[] = [];
  const onWarning = (message: string) => void warnings.push(message.replace(root, ""));
  const { models } = await scanRepository(root, { onWarning });
  const lines = models.map(
    ({ name, directories, files }) =>
      `${name}: ${directories.join(" ")} | ${files.map(({ path }) => path).join(" ")}`,
  );
  return { lines, warnings };
}

describe("scanRepository", () => {
  it("lists models, versions, files and hashes", async () => {
    const model = new Uint8Array(2 * CHUNK_SIZE + 3).fill(5);
    await put("m/1/model.onnx", model);
    await put("m/config.pbtxt", "");
    const manifest = await scanRepository(root);
    const chunk = sha256(model.subarray(0, CHUNK_SIZE));
    expect(manifest).toEqual({
      models: [
        {
          name: "m",
          directories: ["1"],
          files: [
            {
              path: "1/model.onnx",
              size: model.length,
              sha256: sha256(model),
              chunks: [chunk, chunk, sha256(model.subarray(0, 3))],
            },
            { path: "config.pbtxt", size: 0, sha256: sha256(""), chunks: [] },
          ],
        },
      ],
    });
    expect(parseManifest(JSON.parse(printManifest(manifest)))).toEqual(manifest);
  });

  it("sorts names by code unit and keeps empty directories", async () => {
    await put("b/2/f");
    await put("b/10/f");
    await put("a/labels.txt");
    await put("B/f");
    await mkdir(join(root, "a/1"));
    await mkdir(join(root, "empty"));
    expect((await outline()).lines).toEqual([
      "B:  | f",
      "a: 1 | labels.txt",
      "b: 10 2 | 10/f 2/f",
      "empty:  | ",
    ]);
  });

  it("leaves out hidden entries, and plain files at the root", async () => {
    await put("index.json");
    await put(".git/config");
    await put("m/.DS_Store");
    await put("m/1/.cache/x");
    await put("m/1/f");
    expect(await outline()).toEqual({ lines: ["m: 1 | 1/f"], warnings: [] });
  });

  it("follows links to files and directories elsewhere", async () => {
    await put("m/1/f");
    await put(".weights/w/data");
    await symlink(join(root, ".weights/w"), join(root, "m/2"));
    await symlink("../.weights/w/data", join(root, "m/labels.txt"));
    await symlink("m", join(root, "twin"));
    expect((await outline()).lines).toEqual([
      "m: 1 2 | 1/f 2/data labels.txt",
      "twin: 1 2 | 1/f 2/data labels.txt",
    ]);
  });

  it("lists a version once, whatever other names link to it", async () => {
    await put("m/3/f");
    await symlink("3", join(root, "m/latest"));
    await symlink("3", join(root, "m/1"));
    await symlink("../m/3", join(root, "m/7"));
    expect(await outline()).toEqual({
      lines: ["m: 3 | 3/f"],
      warnings: [
        "/m/1: left out, this link makes a second version of '3'",
        "/m/7: left out, this link makes a second version of '3'",
      ],
    });
  });

  it("takes a directory that is a version by its link alone, once", async () => {
    await put("m/.store/a/f");
    await put("m/store/b/f");
    await symlink(".store/a", join(root, "m/1"));
    await symlink("store/b", join(root, "m/2"));
    await symlink("store/b", join(root, "m/3"));
    expect(await outline()).toEqual({
      lines: ["m: 1 2 store | 1/f 2/f store/b/f"],
      warnings: ["/m/3: left out, this link makes a second version of '2'"],
    });
  });

  it("does not walk in circles, and says what it left out", async () => {
    await put("m/1/f");
    await symlink(".", join(root, "all"));
    await symlink("../..", join(root, "m/1/up"));
    await symlink("../m", join(root, "m/again"));
    await symlink("nowhere", join(root, "m/1/gone"));
    const { lines, warnings } = await outline();
    expect(lines).toEqual(["m: 1 | 1/f"]);
    expect(warnings).toEqual([
      "/all: left out, this link leads back to a directory that contains it",
      "/m/1/gone: left out, a link that leads nowhere",
      "/m/1/up: left out, this link leads back to a directory that contains it",
      "/m/again: left out, this link leads back to a directory that contains it",
    ]);
  });

  it("reads a file again only when its size or time of change differs", async () => {
    await put("m/1/f", "one");
    const path = join(root, "m/1/f");
    const cache: HashCache = new Map();
    const hashOf = async () => (await scanRepository(root, { cache })).models[0]?.files[0]?.sha256;
    await utimes(path, 1_000_000_000, 1_000_000_000);
    expect(await hashOf()).toBe(sha256("one"));

    await writeFile(path, "two");
    await utimes(path, 1_000_000_000, 1_000_000_000);
    expect(await hashOf()).toBe(sha256("one"));
    await utimes(path, 1_000_000_001, 1_000_000_001);
    expect(await hashOf()).toBe(sha256("two"));
    await appendFile(path, "!");
    await utimes(path, 1_000_000_001, 1_000_000_001);
    expect(await hashOf()).toBe(sha256("two!"));
  });

  it("rejects for a directory that is not there", async () => {
    await expect(scanRepository(join(root, "nothing"))).rejects.toMatchObject({ code: "ENOENT" });
  });
});
