import { access, mkdir, mkdtemp, readFile, rm, symlink, unlink, writeFile } from "node:fs/promises";
import { createServer, type IncomingHttpHeaders, request as httpRequest, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseManifest } from "@naiad/core";
import { build, createServer as createViteServer, type InlineConfig, type ViteDevServer } from "vite";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { naiad, type NaiadPluginOptions } from "./vite-plugin.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "naiad-vite-"));
  await put("index.html", "<!doctype html><title>app</title>");
  await put("models/m/1/model.onnx", "0123456789");
  await put("models/m/1/größe #1.txt", "label");
  await put("models/m/config.pbtxt", "");
  await put("models/.hidden/secret", "secret");
  await put("secret.txt", "secret");
  for (const name of ["host", "instance-wasm", "instance-jspi", "instance-asyncify", "instance-javascript"]) {
    await put(`dist/workers/${name}.js`, `// ${name}`);
  }
  await put("dist/naiad-sw.js", "// service worker");
  for (const name of ["", ".jspi", ".asyncify"]) {
    await put(`ort/ort-wasm-simd-threaded${name}.mjs`, "// glue");
    await put(`ort/ort-wasm-simd-threaded${name}.wasm`, "\0asm");
  }
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

async function put(path: string, content: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), content);
}

function configWith(options: NaiadPluginOptions, more: InlineConfig = {}): InlineConfig {
  const directories = { dist: join(root, "dist"), ort: join(root, "ort") };
  return {
    root,
    configFile: false,
    logLevel: "silent",
    base: "/app/",
    plugins: [naiad({ modelRepositories: { "/models": "models" }, ...options }, directories)],
    ...more,
  };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends the path as it is: `fetch` would tidy it up. */
type Ask = (path: string, options?: { method?: string; headers?: Record<string, string> }) => Promise<Answer>;

/** A development server with the plugin as Vite itself sets it up. */
async function withServer(options: NaiadPluginOptions, use: (ask: Ask) => Promise<void>): Promise<void> {
  const vite: ViteDevServer = await createViteServer(
    configWith(options, {
      optimizeDeps: { noDiscovery: true },
      server: { middlewareMode: true, ws: false, watch: null },
    }),
  );
  const server: Server = createServer(vite.middlewares);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const ask: Ask = (path, { headers = {}, method = "GET" } = {}) =>
    new Promise((resolve, reject) => {
      const sent = httpRequest({ host: "127.0.0.1", port, path, method, headers }, (response) => {
        let body = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => (body += piece));
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
        });
      });
      sent.on("error", reject);
      sent.end();
    });
  try {
    await use(ask);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await vite.close();
  }
}

const MODEL = "/app/models/m/1/model.onnx";

describe("the plugin's options", () => {
  it.each([
    [null, "the options of the naiad plugin must be an object, but they are null"],
    [{ modelRepository: "models" }, "the naiad plugin has no option 'modelRepository'"],
    [{ modelRepositories: "models" }, "'modelRepositories' must be an object whose values are each the path"],
    [{ modelRepositories: { models: undefined } }, "'modelRepositories' must be an object whose values"],
    [{ modelRepositories: { models: "" } }, "'modelRepositories' must be an object whose values"],
    [{ serviceWorker: "" }, "'serviceWorker' must be a path, true or false, but it is ''"],
    [{ serviceWorker: null }, "'serviceWorker' must be a path, true or false, but it is null"],
    [{ crossOriginIsolation: "yes" }, "'crossOriginIsolation' must be true or false, but it is 'yes'"],
    [{ assetsBase: 5 }, "'assetsBase' must be a string, but it is 5"],
  ])("refuse %j", (options, text) => {
    expect(() => {
      Reflect.apply(naiad, undefined, [options, { dist: "", ort: "" }]);
    }).toThrow(text);
  });
});

describe("the development server", () => {
  it("serves workers, engines and the service worker with the types that browsers insist on", async () => {
    await withServer({}, async (ask) => {
      const host = await ask("/app/naiad/workers/host.js");
      expect(host).toMatchObject({ status: 200, body: "// host" });
      expect(host.headers["content-type"]).toBe("text/javascript; charset=utf-8");
      const wasm = await ask("/app/naiad/ort/ort-wasm-simd-threaded.jspi.wasm");
      expect(wasm).toMatchObject({ status: 200, body: "\0asm" });
      expect(wasm.headers["content-type"]).toBe("application/wasm");
      const worker = await ask("/app/naiad-sw.js?v=1");
      expect(worker).toMatchObject({ status: 200, body: "// service worker" });
      expect(worker.headers).toMatchObject({
        "service-worker-allowed": "/app/",
        "cache-control": "no-cache",
      });
      expect((await ask("/app/naiad/workers/other.js")).status).toBe(404);
      expect((await ask("/app/naiad/workers/host.js.map")).status).toBe(404);
    });
  });

  it("makes the manifest of a plain directory on the fly", async () => {
    await withServer({}, async (ask) => {
      const first = await ask("/app/models/index.json");
      expect(first.headers["content-type"]).toBe("application/json; charset=utf-8");
      expect(parseManifest(JSON.parse(first.body)).models).toMatchObject([
        {
          name: "m",
          directories: ["1"],
          files: [{ path: "1/größe #1.txt" }, { path: "1/model.onnx", size: 10 }, { path: "config.pbtxt" }],
        },
      ]);
      const again = { headers: { "if-none-match": first.headers.etag ?? "" } };
      expect((await ask("/app/models/index.json", again)).status).toBe(304);

      await put("models/n/1/model.onnx", "new");
      const second = await ask("/app/models/index.json", again);
      expect(second.status).toBe(200);
      expect(parseManifest(JSON.parse(second.body)).models.map(({ name }) => name)).toEqual(["m", "n"]);
      expect(await ask("/app/models/index.json", { method: "HEAD" })).toMatchObject({
        status: 200,
        body: "",
        headers: { "content-length": String(Buffer.byteLength(second.body)) },
      });
    });
  });

  it("serves model files whole, in ranges, and as HEAD", async () => {
    await withServer({}, async (ask) => {
      expect(await ask(MODEL)).toMatchObject({
        status: 200,
        body: "0123456789",
        headers: {
          "content-length": "10",
          "accept-ranges": "bytes",
          "content-type": "application/octet-stream",
        },
      });
      expect(await ask(MODEL, { headers: { range: "bytes=2-4" } })).toMatchObject({
        status: 206,
        body: "234",
        headers: { "content-range": "bytes 2-4/10", "content-length": "3" },
      });
      expect(await ask(MODEL, { headers: { range: "bytes=-1" } })).toMatchObject({ status: 206, body: "9" });
      expect(await ask(MODEL, { headers: { range: "bytes=10-" } })).toMatchObject({
        status: 416,
        body: "",
        headers: { "content-range": "bytes */10" },
      });
      expect(await ask(MODEL, { method: "HEAD", headers: { range: "bytes=2-4" } })).toMatchObject({
        status: 200,
        body: "",
        headers: { "content-length": "10" },
      });
      expect(await ask("/app/models/m/config.pbtxt")).toMatchObject({ status: 200, body: "" });
    });
  });

  it("answers conditional requests", async () => {
    await withServer({}, async (ask) => {
      const { headers } = await ask(MODEL);
      const etag = headers.etag ?? "";
      expect(etag).toMatch(/^"[0-9a-f]+-[0-9a-f]+"$/);
      expect(await ask(MODEL, { headers: { "if-none-match": `"x", W/${etag}` } })).toMatchObject({
        status: 304,
        body: "",
      });
      const range = "bytes=2-4";
      expect((await ask(MODEL, { headers: { range, "if-range": etag } })).status).toBe(206);
      expect((await ask(MODEL, { headers: { range, "if-range": '"old"' } })).status).toBe(200);
    });
  });

  it("decodes names segment by segment, and never leaves the directory", async () => {
    await withServer({}, async (ask) => {
      expect((await ask("/app/models/m/1/gr%C3%B6%C3%9Fe%20%231.txt")).body).toBe("label");
      for (const path of [
        "../secret.txt",
        "m/../../secret.txt",
        "%2e%2e/secret.txt",
        "..%2fsecret.txt",
        "m%2F1%2Fmodel.onnx",
        "..%5csecret.txt",
        ".hidden/secret",
        "m//1/model.onnx",
        "m/1/model.onnx%00",
        "%E0%A4%A",
        "m/1",
        "m/1/model.onnx/more",
        "m/1/nothing",
        "",
      ]) {
        const answer = await ask(`/app/models/${path}`);
        expect([answer.status, answer.body]).toEqual([404, `no file at /app/models/${path}`]);
        expect(answer.headers["content-type"]).toBe("text/plain; charset=utf-8");
      }
    });
  });

  it("leaves everything else to Vite", async () => {
    await withServer({}, async (ask) => {
      expect((await ask("/app/")).body).toContain("<title>app</title>");
      expect((await ask(MODEL, { method: "POST" })).headers["x-content-type-options"]).toBeUndefined();
      expect((await ask("/app/v2/models")).body).not.toContain("no file at");
    });
  });

  it("isolates the origin when asked, on pages and workers alike", async () => {
    const isolation = {
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-embedder-policy": "require-corp",
    };
    await withServer({ crossOriginIsolation: true }, async (ask) => {
      expect((await ask("/app/")).headers).toMatchObject(isolation);
      expect((await ask("/app/naiad/workers/host.js")).headers).toMatchObject(isolation);
      expect((await ask(MODEL)).headers).toMatchObject(isolation);
    });
    await withServer({}, async (ask) => {
      expect((await ask("/app/")).headers["cross-origin-opener-policy"]).toBeUndefined();
    });
  });

  it("puts assets and service worker where the options say", async () => {
    await withServer({ assetsBase: "/static/engine/", serviceWorker: "/static/sw.js" }, async (ask) => {
      expect((await ask("/app/static/engine/workers/host.js")).body).toBe("// host");
      expect((await ask("/app/static/sw.js")).headers["service-worker-allowed"]).toBe("/app/");
    });
    await withServer({ serviceWorker: false }, async (ask) => {
      expect((await ask("/app/naiad-sw.js")).headers["service-worker-allowed"]).toBeUndefined();
    });
  });

  it("says what is wrong with a repository that it cannot read", async () => {
    await withServer({ modelRepositories: { models: "nowhere" } }, async (ask) => {
      const answer = await ask("/app/models/index.json");
      expect(answer.status).toBe(404);
      expect(answer.body).toContain("nowhere");
    });
    await expect(
      withServer({ modelRepositories: { "/": "models" } }, () => Promise.resolve()),
    ).rejects.toThrow("the model repository 'models' needs a URL folder of its own");
  });
});

describe("a build", () => {
  const exists = (path: string): Promise<boolean> =>
    access(join(root, "out", path)).then(
      () => true,
      () => false,
    );

  it("contains everything, with the manifest of the models", async () => {
    await symlink("1", join(root, "models/m/latest"));
    await build(configWith({}, { build: { outDir: "out" } }));
    const read = (path: string): Promise<string> => readFile(join(root, "out", path), "utf8");
    expect(await read("naiad/workers/instance-asyncify.js")).toBe("// instance-asyncify");
    expect(await read("naiad/ort/ort-wasm-simd-threaded.wasm")).toBe("\0asm");
    expect(await read("naiad-sw.js")).toBe("// service worker");
    expect(await read("models/m/1/model.onnx")).toBe("0123456789");
    expect(await exists("models/m/latest")).toBe(false);
    expect(await exists("models/.hidden")).toBe(false);
    const { models } = parseManifest(JSON.parse(await read("models/index.json")));
    expect(models.map(({ files, name }) => [name, files.length])).toEqual([["m", 3]]);
  });

  it("adds the manifest to a repository in Vite's public folder", async () => {
    await put("public/models/p/1/model.onnx", "public");
    await build(configWith({ modelRepositories: { models: "public/models" } }, { build: { outDir: "out" } }));
    expect(await readFile(join(root, "out/models/p/1/model.onnx"), "utf8")).toBe("public");
    const manifest = await readFile(join(root, "out/models/index.json"), "utf8");
    expect(parseManifest(JSON.parse(manifest)).models.map(({ name }) => name)).toEqual(["p"]);
  });

  it("fails when the package is incomplete", async () => {
    await unlink(join(root, "dist/workers/host.js"));
    await expect(build(configWith({}, { build: { outDir: "out" } }))).rejects.toThrow("host.js");
  });
});
