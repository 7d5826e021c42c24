import { describe, expect, it } from "vitest";
import type { WasmNamespace } from "./wasm-memories.ts";
import { watchWasmMemories } from "./wasm-memories.ts";

const PAGE = 65_536;
/** `(module (memory (export "m") 2))` */
const EXPORTING = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 5, 3, 1, 0, 2, 7, 5, 1, 1, 109, 2, 0);
/** `(module (import "e" "m" (memory 1)))` */
const IMPORTING = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 2, 8, 1, 1, 101, 1, 109, 2, 0, 1);

/** The platform's own functions in an object that may be changed. */
function namespace(): WasmNamespace {
  const { Instance, Memory, instantiate } = WebAssembly;
  return {
    Instance,
    Memory,
    instantiate,
    instantiateStreaming: async (source, imports) => instantiate(await (await source).arrayBuffer(), imports),
  };
}

describe("the memories of WebAssembly modules", () => {
  it("are noticed where a module brings its own, however it is instantiated", async () => {
    const wasm = namespace();
    const bytes = watchWasmMemories(wasm);
    expect(bytes()).toBe(0);
    const module = new WebAssembly.Module(EXPORTING);
    const kept: unknown[] = [await wasm.instantiate(EXPORTING)];
    expect(bytes()).toBe(2 * PAGE);
    kept.push(await wasm.instantiate(module));
    kept.push(new wasm.Instance(module));
    kept.push(await wasm.instantiateStreaming(Promise.resolve(new Response(EXPORTING))));
    expect(bytes()).toBe(8 * PAGE);
    expect(kept).toHaveLength(4);
  });

  it("are noticed where a module is given one, once for all that share it, and as they grow", async () => {
    const wasm = namespace();
    const bytes = watchWasmMemories(wasm);
    const memory = new wasm.Memory({ initial: 3, maximum: 10 });
    const imports = { e: { m: memory } };
    await wasm.instantiate(IMPORTING, imports);
    const instance = new wasm.Instance(new WebAssembly.Module(IMPORTING), imports);
    expect(instance).toBeInstanceOf(WebAssembly.Instance);
    expect(bytes()).toBe(3 * PAGE);
    memory.grow(2);
    expect(bytes()).toBe(5 * PAGE);
  });

  it("leave failures as they are", async () => {
    const wasm = namespace();
    const bytes = watchWasmMemories(wasm);
    await expect(wasm.instantiate(Uint8Array.of(1, 2, 3))).rejects.toBeInstanceOf(WebAssembly.CompileError);
    await expect(wasm.instantiate(IMPORTING)).rejects.toThrow();
    expect(() => new wasm.Instance(new WebAssembly.Module(IMPORTING), {})).toThrow();
    expect(bytes()).toBe(0);
  });
});
