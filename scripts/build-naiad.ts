/**
 * Builds the published package: the SDK, the gateway library, the Vite plugin, the command, and the prebuilt worker files.
 *
 * Workers are prebuilt single-file ES modules, since an application's bundler would have to split onnxruntime-web's lazy
 * imports inside a worker; the service worker is one classic script, since it must run where module workers do not.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { build } from "vite";
import { run } from "./lib/exec.mjs";
import { checkSizes } from "./size-ceilings.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PACKAGE = join(ROOT, "packages/naiad");
const DIST = join(PACKAGE, "dist");
const STAMP = join(ROOT, ".cache/naiad-build");

interface Output {
  /** Relative to dist. */
  readonly file: string;
  /** Relative to packages. */
  readonly entry: string;
  readonly format: "es" | "iife";
  readonly platform: "browser" | "node";
  readonly minify: boolean;
}

const OUTPUTS: readonly Output[] = [
  { file: "index.js", entry: "naiad/src/index.ts", format: "es", platform: "browser", minify: false },
  { file: "gateway.js", entry: "naiad/src/gateway.ts", format: "es", platform: "browser", minify: false },
  { file: "model.js", entry: "naiad/src/model.ts", format: "es", platform: "browser", minify: false },
  { file: "perf.js", entry: "naiad/src/perf/index.ts", format: "es", platform: "browser", minify: false },
  { file: "vite.js", entry: "naiad/src/vite-plugin.ts", format: "es", platform: "node", minify: false },
  { file: "command.js", entry: "naiad/src/command/index.ts", format: "es", platform: "node", minify: false },
  {
    file: "serve-page.js",
    entry: "naiad/src/command/serve/page/page.entry.ts",
    format: "es",
    platform: "browser",
    minify: true,
  },
  {
    file: "naiad-sw.js",
    entry: "runtime/src/service-worker/gateway.entry.ts",
    format: "iife",
    platform: "browser",
    minify: true,
  },
  {
    file: "workers/host.js",
    entry: "runtime/src/host/host.entry.ts",
    format: "es",
    platform: "browser",
    minify: true,
  },
  ...["wasm", "jspi", "asyncify", "javascript"].map((engine): Output => ({
    file: `workers/instance-${engine}.js`,
    entry: `runtime/src/instance/instance-${engine}.entry.ts`,
    format: "es",
    platform: "browser",
    minify: true,
  })),
  // The same in threads of Node.js: `naiad serve --runtime node`.
  ...["host", "instance-wasm", "instance-javascript"].map((name): Output => ({
    file: `node/${name}.js`,
    entry: `naiad/src/command/serve/node/${name}.entry.ts`,
    format: "es",
    platform: "node",
    minify: true,
  })),
];

/** Declarations for the entries that people import. */
const DECLARATIONS: Readonly<Record<string, string>> = {
  "index.d.ts": "naiad/src/index.ts",
  "gateway.d.ts": "naiad/src/gateway.ts",
  "model.d.ts": "naiad/src/model.ts",
  "perf.d.ts": "naiad/src/perf/index.ts",
  "vite.d.ts": "naiad/src/vite-plugin.ts",
};

/** For the generators of people who call the server over gRPC: the service, and what it imports. Relative to packages. */
const PROTO_FILES: readonly string[] = [
  "grpc/proto/grpc_service.proto",
  "grpc/proto/health.proto",
  "model-config/proto/model_config.proto",
];

async function buildOutput(output: Output, version: string): Promise<void> {
  const node = output.platform === "node";
  await build({
    root: ROOT,
    configFile: false,
    publicDir: false,
    logLevel: "warn",
    define: {
      __NAIAD_VERSION__: JSON.stringify(version),
      // Else `{}` takes its place, as is right for a browser.
      ...(node && { "process.env": "process.env" }),
    },
    // onnxruntime-web's `.mjs` and `.wasm` are served as files beside the workers, not bundled into them.
    resolve: {
      conditions: [
        "onnxruntime-web-use-extern-wasm",
        "module",
        node ? "node" : "browser",
        "import",
        "default",
      ],
      // Else packages are taken in what they have for browsers, which for OpenTelemetry's reads no variables.
      ...(node && { mainFields: ["module", "main"] }),
    },
    build: {
      outDir: DIST,
      emptyOutDir: false,
      copyPublicDir: false,
      target: node ? "node20" : "es2022",
      minify: output.minify,
      sourcemap: true,
      rolldownOptions: {
        input: join(ROOT, "packages", output.entry),
        platform: output.platform,
        external: node
          ? [/^node:/, ...builtinModules, "vite", "ws", "onnxruntime-web", /^onnxruntime-web\//]
          : [],
        preserveEntrySignatures: output.format === "es" ? "strict" : false,
        output: { format: output.format, entryFileNames: output.file, codeSplitting: false },
      },
    },
  });
}

/** The compiler writes one declaration file for each source; these are bundled, since our other packages are private. */
async function buildDeclarations(): Promise<void> {
  await run("node", ["node_modules/typescript/bin/tsc", "-b", "packages/naiad"]);
  for (const [file, entry] of Object.entries(DECLARATIONS)) {
    const bundle = await rollup({
      input: declarationOf(entry),
      external: [/^node:/, "vite"],
      plugins: [{ name: "naiad:declarations", resolveId: resolvePrivate }, dts()],
      onwarn: () => undefined,
    });
    await bundle.write({ file: join(DIST, file), format: "es" });
    await bundle.close();
  }
}

/** `naiad/src/index.ts` -> the declaration file that the compiler wrote for it. */
function declarationOf(entry: string): string {
  return join(ROOT, "packages", entry.replace("/src/", "/.tsbuild/").replace(/\.ts$/, ".d.ts"));
}

/** `@naiad/runtime/gateway` -> that package's declarations, by its `exports`. */
async function resolvePrivate(specifier: string): Promise<string | undefined> {
  const [, name, subpath] = /^@naiad\/([^/]+)(\/.+)?$/.exec(specifier) ?? [];
  if (name === undefined) return undefined;
  const manifest = JSON.parse(await readFile(join(ROOT, "packages", name, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string>>;
  };
  const source = manifest.exports[`.${subpath ?? ""}`];
  if (source === undefined) throw new Error(`${specifier} is not exported`);
  return declarationOf(`${name}/${source.slice(2)}`);
}

/** Changes whenever anything that the build reads changes. */
async function fingerprint(): Promise<string> {
  const hash = createHash("sha256");
  for (const folder of ["packages", "scripts"]) {
    const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile() && /\.(ts|json|proto)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !/node_modules|[\\/]dist[\\/]|\.tsbuild|\.test\.ts$/.test(path))
      .sort();
    for (const path of files) {
      const { mtimeMs, size } = await stat(path);
      hash.update(`${path} ${mtimeMs} ${size}\n`);
    }
  }
  return hash.digest("hex");
}

const { values } = parseArgs({ options: { force: { type: "boolean" }, quiet: { type: "boolean" } } });
const wanted = await fingerprint();
const stale = !existsSync(DIST) || !existsSync(STAMP) || (await readFile(STAMP, "utf8")) !== wanted;
if (stale || values.force === true) {
  const started = performance.now();
  const manifest = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8")) as { version: string };
  await rm(DIST, { recursive: true, force: true });
  for (const folder of ["workers", "node", "proto"]) await mkdir(join(DIST, folder), { recursive: true });
  for (const output of OUTPUTS) await buildOutput(output, manifest.version);
  for (const file of PROTO_FILES) {
    await copyFile(join(ROOT, "packages", file), join(DIST, "proto", basename(file)));
  }
  await buildDeclarations();
  const sizes = await checkSizes(DIST);
  await mkdir(join(ROOT, ".cache"), { recursive: true });
  await writeFile(STAMP, wanted);
  if (values.quiet !== true)
    console.log(`built naiad in ${((performance.now() - started) / 1000).toFixed(1)} s (${sizes})`);
}
