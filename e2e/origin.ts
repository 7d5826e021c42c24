import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin, PreviewServer } from "vite";
import { build, preview } from "vite";
import { naiad } from "naiad/vite";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGES = join(ROOT, "e2e/pages");
const BUILT = join(ROOT, ".cache/e2e-pages");

/** The model directories that tests and benchmarks use: sample and fixture models, written by `npm run models`. */
export const MODELS: string = join(ROOT, "public/models");

export interface OriginOptions {
  /** Folder of model directories served under /models/. Default: the sample and fixture models. */
  readonly models?: string;
  /** Whether the origin sends COOP and COEP. Default true. */
  readonly crossOriginIsolation?: boolean;
  /** Default: a free one. */
  readonly port?: number;
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

/** Builds the test pages once per run. */
export async function buildPages(): Promise<void> {
  await build({
    root: PAGES,
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

export async function serveOrigin(options: OriginOptions = {}): Promise<Origin> {
  if (!existsSync(BUILT)) throw new Error("the test pages are not built: call buildPages first");
  const server: PreviewServer = await preview({
    root: PAGES,
    configFile: false,
    logLevel: "error",
    build: { outDir: BUILT },
    plugins: [
      naiad({
        modelRepositories: { models: options.models ?? MODELS },
        crossOriginIsolation: options.crossOriginIsolation ?? true,
      }),
      reports(options.onReport),
      mortalWorkers(),
    ],
    preview: { port: options.port ?? 0, strictPort: options.port !== undefined, host: "127.0.0.1" },
  });
  const address = server.httpServer.address();
  if (address === null || typeof address === "string") throw new Error("the preview server has no port");
  return {
    url: `http://127.0.0.1:${address.port}/`,
    port: address.port,
    close: async () => {
      if ("closeAllConnections" in server.httpServer) server.httpServer.closeAllConnections();
      await server.close();
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

/**
 * Serves naiad's files a second time under /mortal/, with a host script that kills its youngest instance worker when the
 * BroadcastChannel `e2e` says so: what a crash of that worker is to the rest.
 */
function mortalWorkers(): Plugin {
  const prelude = `
    const children = [];
    const Real = self.Worker;
    self.Worker = class extends Real { constructor(...args) { super(...args); children.push(this); } };
    new BroadcastChannel("e2e").addEventListener("message", ({ data }) => {
      if (data === "kill-instance") children.pop()?.terminate();
    });
  `;
  // Static imports: a worker that is still evaluating when a message comes would lose it.
  const host = `import "./prelude.js"; import "/naiad/workers/host.js";`;
  return {
    name: "naiad:mortal-workers",
    configurePreviewServer(server) {
      server.middlewares.use("/mortal", (request, response) => {
        const path = request.url ?? "/";
        response.setHeader("cross-origin-embedder-policy", "require-corp");
        response.setHeader("cross-origin-resource-policy", "same-origin");
        if (path === "/workers/host.js" || path === "/workers/prelude.js") {
          response.setHeader("content-type", "text/javascript");
          response.end(path.endsWith("prelude.js") ? prelude : host);
        } else {
          response.writeHead(307, { location: `/naiad${path}` });
          response.end();
        }
      });
    },
  };
}
