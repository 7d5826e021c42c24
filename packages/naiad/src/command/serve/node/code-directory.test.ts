import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Digest, ModelFiles } from "@naiad/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createCodeDirectory } from "./code-directory.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "naiad-code-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const sha256 = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");
const digest: Digest = { sha256: (bytes) => Promise.resolve(sha256(bytes)) };

function filesOf(contents: Readonly<Record<string, string>>): ModelFiles {
  return {
    location: { kind: "memory" },
    entries: Object.entries(contents).map(([path, text]) => ({
      path,
      size: text.length,
      sha256: sha256(text),
      chunks: [],
    })),
    read: (path) => Promise.resolve(new TextEncoder().encode(contents[path])),
  };
}

const textAt = (url: string): Promise<string> => readFile(fileURLToPath(url), "utf8");

describe("the directory of models' modules", () => {
  it("has a model's modules for as long as somebody uses them, for import to read", async () => {
    const serve = createCodeDirectory(folder, digest);
    const files = filesOf({
      "1/model.js": "export default 1;",
      "1/parts/data.json": "[1]",
      "1/weights.bin": "heavy",
    });
    const [one, other] = [await serve(files), await serve(files)];
    expect(other.url).toBe(one.url);
    expect(existsSync(fileURLToPath(`${one.url}1/weights.bin`))).toBe(false);
    const entry = `${one.url}1/model.js`;
    expect(await textAt(entry)).toBe("export default 1;");
    expect(await textAt(`${one.url}1/parts/data.json`)).toBe("[1]");
    one.close();
    one.close();
    expect(existsSync(fileURLToPath(entry))).toBe(true);
    other.close();
    await expect.poll(() => existsSync(fileURLToPath(entry))).toBe(false);
  });

  it("keeps contents apart, also the same one from before it was removed", async () => {
    const version = (text: string): ModelFiles => filesOf({ "1/model.js": `export default ${text};` });
    const serve = createCodeDirectory(folder, digest);
    const [one, two] = await Promise.all([serve(version("1")), serve(version("2"))]);
    one.close();
    const again = await serve(version("1"));
    const urls = [one.url, two.url, again.url];
    expect(new Set(urls).size).toBe(3);
    await expect.poll(() => existsSync(fileURLToPath(one.url))).toBe(false);
    expect(await textAt(`${again.url}1/model.js`)).toBe("export default 1;");

    // The next host begins with an empty one.
    await createCodeDirectory(folder, digest)(filesOf({ "1/other.js": "" }));
    expect(existsSync(fileURLToPath(two.url))).toBe(false);
  });

  it("leaves nothing where the files cannot be read, and tries again", async () => {
    const serve = createCodeDirectory(folder, digest);
    const files = filesOf({ "1/model.js": "export default 1;" });
    const broken = { ...files, read: () => Promise.reject(new Error("gone")) };
    await expect(serve(broken)).rejects.toThrow("gone");
    const { url } = await serve(files);
    expect(await textAt(`${url}1/model.js`)).toBe("export default 1;");
  });
});
