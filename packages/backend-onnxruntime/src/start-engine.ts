import { InferenceError } from "@naiad/protocol";
import type { OnnxEngine, Ort } from "./engine.ts";
import { engineFailure } from "./engine-error.ts";
import { engineFilesProblem } from "./engine-files-problem.ts";
import type { EngineSettings } from "./environment.ts";
import { configureEngine } from "./environment.ts";

/**
 * Brings the engine up: its files are loaded and its memory and threads exist when this resolves. UNAVAILABLE when that
 * fails, and then for the rest of the worker's life: the engine repeats its first failure for ever.
 */
export async function startEngine(engine: OnnxEngine, settings: EngineSettings): Promise<Ort> {
  try {
    const ort = await engine.load();
    configureEngine(ort, engine.build, settings);
    const session = await ort.InferenceSession.create(new Uint8Array(PROBE_MODEL), {
      executionProviders: ["wasm"],
      logSeverityLevel: 4,
    });
    await session.release();
    return ort;
  } catch (thrown) {
    const reason = (await engineFilesProblem(engine.build, settings)) ?? engineFailure(thrown).message;
    throw new InferenceError("UNAVAILABLE", `ONNX Runtime Web (${engine.build}) could not start: ${reason}`, {
      cause: thrown,
    });
  }
}

/** The engine starts with its first session. This is a whole ONNX model: the FP32 scalar `x` is input and output. */
const PROBE_MODEL: readonly number[] = [
  8, 8, 58, 29, 18, 1, 103, 90, 11, 10, 1, 120, 18, 6, 10, 4, 8, 1, 18, 0, 98, 11, 10, 1, 120, 18, 6, 10, 4,
  8, 1, 18, 0, 66, 2, 16, 17,
];
