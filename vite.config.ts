import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import type { Plugin } from "vite";
import { build, defineConfig } from "vite";
import { naiad } from "naiad/vite";

const ROOT = fileURLToPath(new URL(".", import.meta.url));
const PLAYGROUND = join(ROOT, "apps/playground");

/** The playground: served by `npm start`, with hot reload by `npm run dev`. */
export default defineConfig({
  root: PLAYGROUND,
  publicDir: false,
  plugins: [
    react(),
    naiad({
      modelRepositories: { models: join(ROOT, "public/models") },
      serviceWorker: false,
      crossOriginIsolation: true,
    }),
    ownServiceWorker(),
  ],
  build: { target: "es2022", outDir: join(PLAYGROUND, "dist"), emptyOutDir: true, assetsInlineLimit: 0 },
  preview: { host: "localhost", port: 8080 },
  server: { host: "localhost", port: 8080 },
});

/**
 * Builds the playground's service worker as one classic script after the app, with the list of files that make up its
 * shell; in development it is built on request, without a shell to keep.
 */
function ownServiceWorker(): Plugin {
  const script = async (shell: readonly string[]): Promise<string> => {
    const version = createHash("sha256")
      .update(JSON.stringify(shell))
      .update(String(Date.now()))
      .digest("hex")
      .slice(0, 12);
    const result = await build({
      configFile: false,
      logLevel: "warn",
      publicDir: false,
      define: { __SHELL__: JSON.stringify(shell), __SHELL_VERSION__: JSON.stringify(version) },
      build: {
        write: false,
        target: "es2022",
        rolldownOptions: {
          input: join(PLAYGROUND, "src/service-worker.ts"),
          output: { format: "iife", entryFileNames: "naiad-sw.js", codeSplitting: false },
        },
      },
    });
    if (!("output" in result)) throw new Error("the service worker was not built");
    return result.output[0].code;
  };
  return {
    name: "playground:service-worker",
    configureServer(server) {
      server.middlewares.use("/naiad-sw.js", (_request, response, next) => {
        script([]).then((code) => {
          response.setHeader("content-type", "text/javascript");
          response.setHeader("cache-control", "no-cache");
          response.end(code);
        }, next);
      });
    },
    async generateBundle(_options, bundle) {
      const files = Object.values(bundle)
        .map(({ fileName }) => fileName)
        .filter((name) => name !== "index.html" && !name.endsWith(".map"));
      const workers = [
        "host",
        "instance-wasm",
        "instance-jspi",
        "instance-asyncify",
        "instance-javascript",
      ].map((name) => `naiad/workers/${name}.js`);
      this.emitFile({
        type: "asset",
        fileName: "naiad-sw.js",
        source: await script(["./", ...files, ...workers]),
      });
    },
  };
}
