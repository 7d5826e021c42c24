import type { EngineBuild, Ort } from "./engine.ts";

/** The only file that touches the engine's global settings. They are read once, when the first session is created. */

export interface EngineSettings {
  /**
   * Folder with onnxruntime-web's `.mjs` and `.wasm` files, an absolute URL with a trailing slash. `""` leaves the
   * choice to the engine.
   */
  readonly ortUrl: string;
  /** More than one needs cross-origin isolation; without it there is one. */
  readonly threads: number;
  /** The build's `.wasm` file compiled elsewhere. */
  readonly wasmModule?: WebAssembly.Module;
}

/** The files that a build loads from `ortUrl`. */
export interface EngineFiles {
  readonly mjs: string;
  readonly wasm: string;
}

const FILE_STEM: Readonly<Record<EngineBuild, string>> = {
  wasm: "ort-wasm-simd-threaded",
  jspi: "ort-wasm-simd-threaded.jspi",
  asyncify: "ort-wasm-simd-threaded.asyncify",
};

export function engineFiles(build: EngineBuild): EngineFiles {
  const stem = FILE_STEM[build];
  return { mjs: `${stem}.mjs`, wasm: `${stem}.wasm` };
}

/**
 * The `.mjs` file is always named explicitly, also to the builds that embed it: the engine's thread workers run the
 * script that the embedded copy came in, which here would be a whole instance worker.
 */
export function configureEngine(ort: Ort, build: EngineBuild, settings: EngineSettings): void {
  const { wasm } = ort.env;
  const files = engineFiles(build);
  ort.env.logLevel = "fatal";
  wasm.proxy = false;
  wasm.numThreads = mayHaveThreads() ? settings.threads : 1;
  if (settings.ortUrl !== "") {
    wasm.wasmPaths = { mjs: settings.ortUrl + files.mjs, wasm: settings.ortUrl + files.wasm };
  }
  if (settings.wasmModule !== undefined) {
    wasm.wasmBinary = shareModule(settings.wasmModule, settings.ortUrl + files.wasm);
  }
}

/** The engine would see this too, and warn on the console. Where the platform knows no isolation, the engine decides. */
function mayHaveThreads(): boolean {
  return !("crossOriginIsolated" in globalThis) || globalThis.crossOriginIsolated;
}

/** Threads really in use: the engine corrects the number when it starts. */
export function engineThreads(ort: Ort): number {
  return ort.env.wasm.numThreads ?? 1;
}

/**
 * The engine takes bytes, not a compiled module. So it gets a placeholder, and the one call that would compile the
 * placeholder gets the module instead. Should the module not fit, the file is fetched and compiled after all.
 */
function shareModule(module: WebAssembly.Module, wasmUrl: string): ArrayBuffer {
  const placeholder = new ArrayBuffer(8);
  const { instantiate } = WebAssembly;
  const intercept = async (
    source: BufferSource | WebAssembly.Module,
    imports?: WebAssembly.Imports,
  ): Promise<WebAssembly.WebAssemblyInstantiatedSource | WebAssembly.Instance> => {
    if (source instanceof WebAssembly.Module) return instantiate(source, imports);
    if (bufferOf(source) !== placeholder) return instantiate(source, imports);
    Reflect.set(WebAssembly, "instantiate", instantiate);
    try {
      return { module, instance: await instantiate(module, imports) };
    } catch {
      return WebAssembly.instantiateStreaming(fetch(wasmUrl, { credentials: "same-origin" }), imports);
    }
  };
  Reflect.set(WebAssembly, "instantiate", intercept);
  return placeholder;
}

function bufferOf(source: BufferSource): ArrayBufferLike {
  return ArrayBuffer.isView(source) ? source.buffer : source;
}
