import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { requireRepository } from "./require-repository.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "naiad-require-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

async function put(path: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), "");
}

describe("the directory of a repository", () => {
  it("may hold models of any name, or none", async () => {
    await requireRepository(root);
    await put("simple/config.pbtxt");
    await put("1/1/model.onnx");
    await put("readme.txt");
    await requireRepository(root);
  });

  it("is not a model's, with or without a configuration", async () => {
    await put("a/config.pbtxt");
    await put("b/1/model.onnx");
    await expect(requireRepository(join(root, "a"))).rejects.toThrow(
      `'${join(root, "a")}' is a model (it has a config.pbtxt); give the directory that contains it`,
    );
    await expect(requireRepository(join(root, "b"))).rejects.toThrow("is a model (it has 1/model.onnx)");
  });

  it("exists", async () => {
    await put("file");
    await expect(requireRepository(join(root, "none"))).rejects.toThrow(
      `no directory '${join(root, "none")}'`,
    );
    await expect(requireRepository(join(root, "file"))).rejects.toThrow("is not a directory");
  });
});
