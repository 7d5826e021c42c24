import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRepositoryScanner } from "./repository-scanner.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "naiad-scanner-"));
  await mkdir(join(root, "m", "1"), { recursive: true });
  await writeFile(join(root, "m", "config.pbtxt"), "");
  await writeFile(join(root, "m", "1", "model.onnx"), "weights");
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

const noHash = { size: 0, sha256: "", chunks: [] };

describe("a repository that is looked at again and again", () => {
  it("tells of what is left out once, until that changes", async () => {
    const warnings: string[] = [];
    const scan = createRepositoryScanner(root, { onWarning: (message) => warnings.push(message) });
    const link = join(root, "m", "1", "extra");
    await symlink("/nonexistent", link);
    await scan();
    await scan();
    const warning = `${link}: left out, a link that leads nowhere`;
    expect(warnings).toEqual([warning]);
    await rm(link);
    await scan();
    await symlink("/nonexistent", link);
    await scan();
    expect(warnings).toEqual([warning, warning]);
  });

  it("lists the rest of a repository in which something may not be read", async () => {
    const warnings: string[] = [];
    const scan = createRepositoryScanner(root, {
      onWarning: (message) => warnings.push(message),
      describe: (path) =>
        path.endsWith(".onnx")
          ? Promise.reject(Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" }))
          : Promise.resolve(noHash),
    });
    const { models } = await scan();
    expect(models).toEqual([{ name: "m", directories: ["1"], files: [{ path: "config.pbtxt", ...noHash }] }]);
    expect(warnings).toEqual([
      `${join(root, "m", "1", "model.onnx")}: left out, permission to read it is denied`,
    ]);
  });

  it("reads for all who ask at the same time once, and again after a failure", async () => {
    let reads = 0;
    let isBroken = true;
    const scan = createRepositoryScanner(root, {
      onWarning: () => undefined,
      describe: () => {
        reads += 1;
        return isBroken ? Promise.reject(new Error("it changed while it was read")) : Promise.resolve(noHash);
      },
    });
    const first = scan();
    expect(scan()).toBe(first);
    await expect(first).rejects.toThrow("it changed while it was read");
    expect(reads).toBe(1);
    isBroken = false;
    expect((await scan()).models).toHaveLength(1);
  });
});
