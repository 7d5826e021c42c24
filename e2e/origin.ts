import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin, PreviewServer } from "vite";
import { build, preview } from "vite";
import { naiad } from "naiad/vite";
import type { Intercept } from "./altered-host.ts";
import { alteredHost, MORTAL_WORKERS } from "./altered-host.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGES = join(ROOT, "e2e/pages");
export const BUILT: string = join(ROOT, ".cache/e2e-pages");

/** The model directories that tests and benchmarks use: sample and fixture models, written by `npm run models`. */
export const MODELS: string = join(ROOT, "public/models");

export interface OriginOptions {
  /** Folder of model directories served under /models/. Default: the sample and fixture models. */
  readonly models?: string;
  /** Whether the origin sends COOP and COEP. Default true. */
  readonly crossOriginIsolation?: boolean;
  /** Default: a free one. */
  readonly port?: number;
  /** Path under which the whole site stands, with slashes at both ends. Default `/`. */
  readonly base?: string;
  /** Sees every request before the origin does. */
  readonly intercept?: Intercept;
  /** Hears what a page posts to /__report. */
  readonly onReport?: (text: string) => void;
}

/** A web server of the built test pages, as a user's static host would be. */
export interface Origin {
  readonly url: string;
  readonly port: number;
  /** Stops answering, as if the host had gone off the net. */
  close(): Promise<void>;
}

/** Builds the test pages once per run, and the service workers that they may have in place of Naiad's own. */
export async function buildPages(): Promise<void> {
  await buildSite();
  await buildServiceWorker("app-sw.js", "e2e/pages/app-service-worker.ts");
  await buildServiceWorker("old-sw.js", "packages/runtime/src/service-worker/gateway.entry.ts", [
    otherWireVersion(),
  ]);
}

async function buildSite(): Promise<void> {
  await build({
    root: PAGES,
    // The built site may stand under any path.
    base: "./",
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    plugins: [naiad({ crossOriginIsolation: true })],
    resolve: { conditions: ["onnxruntime-web-use-extern-wasm", "module", "browser", "import", "default"] },
    worker: { format: "es" },
    build: {
      outDir: BUILT,
      emptyOutDir: true,
      target: "es2022",
      rolldownOptions: { input: [join(PAGES, "index.html"), join(PAGES, "bench.html")] },
    },
  });
}

async function buildServiceWorker(
  file: string,
  entry: string,
  plugins: readonly Plugin[] = [],
): Promise<void> {
  await build({
    root: ROOT,
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    plugins: [...plugins],
    build: {
      outDir: BUILT,
      emptyOutDir: false,
      target: "es2022",
      rolldownOptions: {
        input: join(ROOT, entry),
        output: { format: "iife", entryFileNames: file, codeSplitting: false },
      },
    },
  });
}

/** The wire version of `old-sw.js`. */
export const OTHER_WIRE_VERSION: number = 99;

/** Makes what is built speak as another release of Naiad would. */
function otherWireVersion(): Plugin {
  return {
    name: "naiad:other-wire-version",
    transform(code, id) {
      if (!id.endsWith("/runtime/src/contracts.ts")) return undefined;
      const changed = code.replace(/WIRE_VERSION(: number)? = \d+/, `WIRE_VERSION = ${OTHER_WIRE_VERSION}`);
      if (changed === code)
        throw new Error("contracts.ts does not say its wire version where it is looked for");
      return changed;
    },
  };
}

export async function serveOrigin(options: OriginOptions = {}): Promise<Origin> {
  if (!existsSync(BUILT)) throw new Error("the test pages are not built: call buildPages first");
  const base = options.base ?? "/";
  const server: PreviewServer = await preview({
    root: PAGES,
    base,
    configFile: false,
    logLevel: "error",
    build: { outDir: BUILT },
    plugins: [
      ...(options.intercept === undefined ? [] : [intercepts(options.intercept)]),
      naiad({
        modelRepositories: { models: options.models ?? MODELS },
        crossOriginIsolation: options.crossOriginIsolation ?? true,
      }),
      reports(options.onReport),
      intercepts(alteredHost("/mortal/", MORTAL_WORKERS)),
    ],
    preview: { port: options.port ?? 0, strictPort: options.port !== undefined, host: "127.0.0.1" },
  });
  const address = server.httpServer.address();
  if (address === null || typeof address === "string") throw new Error("the preview server has no port");
  return {
    url: `http://127.0.0.1:${address.port}${base}`,
    port: address.port,
    close: async () => {
      if ("closeAllConnections" in server.httpServer) server.httpServer.closeAllConnections();
      await server.close();
    },
  };
}

function intercepts(intercept: Intercept): Plugin {
  return {
    name: "naiad:intercepts",
    configurePreviewServer(server) {
      server.middlewares.use(intercept);
    },
  };
}

/** Where a page without DevTools leaves its results. */
function reports(onReport: ((text: string) => void) | undefined): Plugin {
  return {
    name: "naiad:reports",
    configurePreviewServer(server) {
      server.middlewares.use("/__report", (request, response) => {
        const parts: Buffer[] = [];
        request.on("data", (part: Buffer) => parts.push(part));
        request.on("end", () => {
          onReport?.(Buffer.concat(parts).toString("utf8"));
          response.statusCode = 204;
          response.end();
        });
      });
    },
  };
}
