import { createCollectingLogger, createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createSharedWasmModule } from "./shared-wasm-module.ts";
import type { CompileModule } from "./shared-wasm-module.ts";

const MODULE = new WebAssembly.Module(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0));

function setUp(compile: CompileModule) {
  const clock = createFakeClock();
  const logger = createCollectingLogger();
  const get = createSharedWasmModule({ url: "a.wasm", compile, clock, limitMs: 1000, logger });
  return { get, clock, logger };
}

describe("createSharedWasmModule", () => {
  it("compiles once for all", async () => {
    const urls: string[] = [];
    const { get, clock } = setUp((url) => {
      urls.push(url);
      return Promise.resolve(MODULE);
    });
    expect(await Promise.all([get(), get()])).toEqual([MODULE, MODULE]);
    expect(await get()).toBe(MODULE);
    expect(urls).toEqual(["a.wasm"]);
    expect(clock.timerCount).toBe(0);
  });

  it("does without, says why and tries again the next time", async () => {
    let attempts = 0;
    const { get, logger } = setUp(() => {
      attempts += 1;
      return attempts === 1 ? Promise.reject(new Error("the server answered 404")) : Promise.resolve(MODULE);
    });
    expect(await get()).toBeUndefined();
    expect(logger.lines).toEqual([
      {
        level: "warning",
        message: "cannot share the WASM module a.wasm between workers: the server answered 404",
      },
    ]);
    expect(await get()).toBe(MODULE);
  });

  it("does not wait for ever, and calls the work off", async () => {
    let signal: AbortSignal | undefined;
    const { get, clock, logger } = setUp((_url, given) => {
      signal = given;
      return new Promise(() => undefined);
    });
    const module = get();
    await clock.advance(1000e6);
    expect(await module).toBeUndefined();
    expect(signal?.aborted).toBe(true);
    expect(logger.lines[0]?.message).toMatch(/not there after 1000 ms/);
  });
});
