import { execFile } from "node:child_process";
import type { GpuReading } from "./gpu-reading.ts";
import { NVIDIA_SMI_ARGUMENTS, parseNvidiaSmi } from "./nvidia-smi.ts";

export interface NvidiaSmiOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** After which a call is given up. */
  readonly timeoutMs?: number;
  /** After a call that failed, as it does where a driver is missing. */
  readonly pauseMs?: number;
  readonly nowMs: () => number;
  /** Ends a call that is under way. */
  readonly signal: AbortSignal;
}

type Ending =
  { readonly kind: "answered"; readonly output: string } | { readonly kind: "failed" | "missing" };

/**
 * One process a reading. Its own loop (`--loop-ms`) would save the starts, but a process that stays can hang or fall behind, and
 * then old values look like new ones. Never two at a time: one that cannot be killed, because the driver hangs, is
 * the last one.
 */
export function createNvidiaSmi(options: NvidiaSmiOptions): () => Promise<readonly GpuReading[]> {
  const { environment, nowMs, pauseMs = 60_000, signal, timeoutMs = 5000 } = options;
  let notBeforeMs = -Infinity;
  let isRunning = false;

  function call(): Promise<Ending> {
    isRunning = true;
    return new Promise((resolve) => {
      const child = execFile(
        "nvidia-smi",
        NVIDIA_SMI_ARGUMENTS,
        { env: environment, windowsHide: true },
        (error, output) => {
          isRunning = false;
          clearTimeout(tooLate);
          signal.removeEventListener("abort", giveUp);
          if (error === null) resolve({ kind: "answered", output });
          else resolve({ kind: error.code === "ENOENT" ? "missing" : "failed" });
        },
      );
      const giveUp = (): void => {
        clearTimeout(tooLate);
        child.kill("SIGKILL");
        // Neither one that cannot be killed nor what it has started and left behind keeps this process from its end.
        child.unref();
        child.stdout?.destroy();
        child.stderr?.destroy();
        resolve({ kind: "failed" });
      };
      const tooLate = setTimeout(giveUp, timeoutMs);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  return async () => {
    if (isRunning || signal.aborted || nowMs() < notBeforeMs) return [];
    const ending = await call();
    switch (ending.kind) {
      case "answered":
        return parseNvidiaSmi(ending.output);
      case "failed":
        notBeforeMs = nowMs() + pauseMs;
        return [];
      case "missing":
        notBeforeMs = Infinity;
        return [];
    }
  };
}
