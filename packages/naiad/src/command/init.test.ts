import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSite } from "../site/site.ts";
import { UsageError } from "./command-io.ts";
import { init } from "./init.ts";

let root: string;
let site: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "naiad-init-"));
  site = join(root, "public");
  await putPackages();
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

/** Stand-ins for what a build makes: each file holds its own name. */
async function putPackages(): Promise<void> {
  const { files } = createSite({
    base: "/",
    assets: "naiad/",
    serviceWorker: "naiad-sw.js",
    repositories: new Map(),
    distDirectory: join(root, "dist"),
    ortDirectory: join(root, "ort"),
    onWarning: () => undefined,
  });
  const paths = files.filter(({ optional }) => !optional).map(({ path }) => path);
  for (const path of [...paths, join(root, "dist/index.js"), join(root, "dist/index.js.map")]) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, path);
  }
}

async function run(...argv: readonly string[]) {
  const out: string[] = [];
  const io = {
    out: (line: string) => void out.push(line.replaceAll(root, "<root>")),
    error: () => undefined,
  };
  const code = await init(argv, io, () => ({ dist: join(root, "dist"), ort: join(root, "ort") }));
  return { code, out };
}

describe("naiad init", () => {
  it("writes everything that a page needs besides itself, and says how to go on", async () => {
    expect(await run(site)).toEqual({
      code: 0,
      out: [
        "wrote naiad-sw.js and naiad/ to <root>/public",
        "put a model repository into <root>/public/models and run 'naiad index' on it",
        "in a page:",
        '  import { startServer } from "./naiad/index.js";',
        '  const server = await startServer({ modelRepository: "models/" });',
      ],
    });
    expect((await readdir(site)).sort()).toEqual(["naiad", "naiad-sw.js"]);
    expect((await readdir(join(site, "naiad"))).sort()).toEqual([
      "index.js",
      "index.js.map",
      "ort",
      "workers",
    ]);
    expect(await readFile(join(site, "naiad/workers/host.js"), "utf8")).toBe(
      join(root, "dist/workers/host.js"),
    );
    expect(await readdir(join(site, "naiad/ort"))).toContain("ort-wasm-simd-threaded.jspi.wasm");
  });

  it("replaces its own files and leaves others alone", async () => {
    await mkdir(join(site, "models"), { recursive: true });
    await writeFile(join(site, "models/index.json"), "{}");
    await writeFile(join(site, "index.html"), "mine");
    await writeFile(join(site, "naiad-sw.js"), "old");
    const { out } = await run(site);
    expect(out).not.toContain("put a model repository into <root>/public/models and run 'naiad index' on it");
    expect(await readFile(join(site, "index.html"), "utf8")).toBe("mine");
    expect(await readFile(join(site, "naiad-sw.js"), "utf8")).toBe(join(root, "dist/naiad-sw.js"));
  });

  it("puts the files elsewhere, and leaves the service worker out", async () => {
    const { out } = await run(site, "--assets", "/vendor/naiad/", "--no-service-worker");
    expect(out.at(-1)).toContain('modelRepository: "models/", assets: "vendor/naiad/", serviceWorker: false');
    expect(await readdir(site)).toEqual(["vendor"]);
    expect((await run(site, "-q")).out).toEqual([]);
  });

  it("tells a wrong command line and a place that cannot be", async () => {
    await expect(run()).rejects.toThrow(UsageError);
    await expect(run(site, "other")).rejects.toThrow(UsageError);
    await expect(run(site, "--assets", "../up")).rejects.toThrow("--assets must be the path of a folder");
    await expect(run(site, "--assets", "")).rejects.toThrow(UsageError);
    await expect(run(join(root, "dist/index.js"))).rejects.toThrow("is not a directory");
    await expect(run(join(root, "no/where"))).rejects.toThrow("ENOENT");
  });
});
