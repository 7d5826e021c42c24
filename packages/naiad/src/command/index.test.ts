import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseManifest } from "@naiad/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "./index.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "naiad-command-"));
  await mkdir(join(root, "m/1"), { recursive: true });
  await writeFile(join(root, "m/1/model.onnx"), "weights");
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

interface Result {
  readonly code: number;
  readonly out: readonly string[];
  readonly error: readonly string[];
}

async function naiad(...argv: string[]): Promise<Result> {
  const out: string[] = [];
  const error: string[] = [];
  const clean = (line: string): string => line.replaceAll(root, "<root>");
  const code = await main(argv, {
    out: (line) => void out.push(clean(line)),
    error: (line) => void error.push(clean(line)),
  });
  return { code, out, error };
}

const index = (): string => join(root, "index.json");

describe("naiad", () => {
  it("shows its help, and as an error when it does not know what to do", async () => {
    const help = await naiad("--help");
    expect(help.code).toBe(0);
    expect(help.out.join()).toContain("  index   Write index.json");
    expect(await naiad()).toEqual({ code: 2, out: [], error: help.out });
  });

  it("shows its version, and what it follows", async () => {
    const { version } = createRequire(import.meta.url)("naiad/package.json") as { readonly version: string };
    const { code, out } = await naiad("--version");
    expect(code).toBe(0);
    expect(out).toEqual([
      version,
      expect.stringMatching(/^Triton \d+\.\d+\.\d+$/),
      expect.stringMatching(/^onnxruntime-web \d+\.\d+\.\d+$/),
      expect.stringMatching(/^ONNX opset \d+ and below$/),
    ]);
  });

  it("says why a server cannot be reached", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    const url = `127.0.0.1:${String(port)}`;
    const { code, error } = await naiad("diff", "-u", url, "--against", url, "-m", "m");
    expect([code, error]).toEqual([
      1,
      [`naiad diff: GET http://${url}/v2/models/m: fetch failed: ECONNREFUSED`],
    ]);
  });

  it("refuses what it does not know", async () => {
    expect(await naiad("indx")).toEqual({
      code: 2,
      out: [],
      error: ["naiad: unknown command 'indx'; did you mean 'index'?; see 'naiad --help'"],
    });
    expect((await naiad("toString")).code).toBe(2);
    expect((await naiad("--verbose")).error).toEqual([
      "naiad: unknown option '--verbose'; see 'naiad --help'",
    ]);
  });
});

describe("naiad index", () => {
  it("writes the manifest, and only when something changed", async () => {
    expect(await naiad("index", root)).toEqual({
      code: 0,
      out: ["wrote <root>/index.json: 1 model, 1 file, 0.0 MB"],
      error: [],
    });
    expect(parseManifest(JSON.parse(await readFile(index(), "utf8")))).toMatchObject({
      models: [{ name: "m", directories: ["1"], files: [{ path: "1/model.onnx", size: 7 }] }],
    });
    const { ino } = await stat(index());
    expect((await naiad("index", root)).out).toEqual([
      "<root>/index.json is up to date: 1 model, 1 file, 0.0 MB",
    ]);
    expect((await stat(index())).ino).toBe(ino);
    expect(await readdir(root)).toEqual(["index.json", "m"]);
  });

  it("writes where it is told, also to standard output", async () => {
    await naiad("index", root, "--output", join(root, "m.json"), "--quiet");
    const written = await readFile(join(root, "m.json"), "utf8");
    const { code, out } = await naiad("index", "-o", "-", root);
    expect(code).toBe(0);
    expect(out).toEqual([written.trimEnd()]);
    expect((await readdir(root)).includes("index.json")).toBe(false);
  });

  it("checks without writing, and lists what differs", async () => {
    expect(await naiad("index", "--check", root)).toEqual({
      code: 1,
      out: [],
      error: ["naiad index: <root>/index.json does not exist"],
    });
    await writeFile(join(root, "m/gone.txt"), "x");
    await naiad("index", root);
    expect((await naiad("index", "--check", root)).code).toBe(0);

    await rm(join(root, "m/gone.txt"));
    await writeFile(join(root, "m/1/model.onnx"), "heavier");
    await mkdir(join(root, "m/2"));
    const before = await readFile(index(), "utf8");
    expect(await naiad("index", "--check", root)).toEqual({
      code: 1,
      out: [],
      error: [
        "naiad index: <root>/index.json is out of date:",
        "  ~ m/1/model.onnx",
        "  + m/2/",
        "  - m/gone.txt",
      ],
    });
    expect(await readFile(index(), "utf8")).toBe(before);

    await writeFile(index(), "{}");
    expect((await naiad("index", "--check", root)).error[1]).toContain("naiad_manifest");
  });

  it("warns about what it leaves out, unless it is to be quiet", async () => {
    await symlink("nowhere", join(root, "m/link"));
    expect((await naiad("index", root)).error).toEqual([
      "naiad index: <root>/m/link: left out, a link that leads nowhere",
    ]);
    expect(await naiad("index", "-q", root)).toEqual({ code: 0, out: [], error: [] });
  });

  it("tells the common mistakes apart", async () => {
    const failing = async (...argv: string[]) => {
      const { code, error } = await naiad("index", ...argv);
      return [code, ...error];
    };
    const see = "see 'naiad index --help'";
    expect(await failing()).toEqual([
      2,
      `naiad index: the directory of a model repository is missing; ${see}`,
    ]);
    expect(await failing("a", "b")).toEqual([
      2,
      `naiad index: one directory at a time, and there is also 'b'; ${see}`,
    ]);
    expect(await failing("--frob", root)).toEqual([2, `naiad index: Unknown option '--frob'; ${see}`]);
    expect(await failing("--check", "-o", "-", root)).toEqual([
      2,
      `naiad index: --check compares with a file, which '--output -' is not; ${see}`,
    ]);
    expect(await failing(join(root, "nothing"))).toEqual([1, "naiad index: no directory '<root>/nothing'"]);
    expect(await failing(join(root, "m/1/model.onnx"))).toEqual([
      1,
      "naiad index: '<root>/m/1/model.onnx' is not a directory",
    ]);
    await writeFile(join(root, "m/config.pbtxt"), "");
    expect(await failing(join(root, "m"))).toEqual([
      1,
      "naiad index: '<root>/m' is a model (it has a config.pbtxt); give the directory that contains it",
    ]);
  });

  it("shows its help", async () => {
    const { code, out } = await naiad("index", "--help");
    expect(code).toBe(0);
    expect(out[0]).toContain("Usage: naiad index [options] DIRECTORY");
  });
});
