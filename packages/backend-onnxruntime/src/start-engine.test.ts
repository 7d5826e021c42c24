import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import type { OnnxEngine } from "./engine.ts";
import { engineFiles, engineThreads } from "./environment.ts";
import { startEngine } from "./start-engine.ts";

const ENGINE: OnnxEngine = { build: "wasm", load: () => import("onnxruntime-web") };
const FOLDER = dirname(createRequire(import.meta.url).resolve("onnxruntime-web"));
const ORT_URL = `${pathToFileURL(FOLDER).href}/`;

describe("startEngine", () => {
  it("reports an engine that cannot be loaded", async () => {
    const engine: OnnxEngine = { build: "jspi", load: () => Promise.reject(new Error("no such file")) };
    await expect(startEngine(engine, { ortUrl: "", threads: 1 })).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "ONNX Runtime Web (jspi) could not start: no such file",
    });
  });

  it("runs on a module that was compiled elsewhere", async () => {
    const wasmModule = await WebAssembly.compile(await readFile(join(FOLDER, engineFiles("wasm").wasm)));
    const untouched = WebAssembly.instantiate;
    const ort = await startEngine(ENGINE, { ortUrl: ORT_URL, threads: 1, wasmModule });
    expect(engineThreads(ort)).toBe(1);
    // The placeholder has been used up, so nothing else will ever meet the interception.
    expect(WebAssembly.instantiate).toBe(untouched);
  });
});
