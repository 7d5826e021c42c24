import { createBrowserClock } from "../src/host/browser-clock.ts";
import type { ClockReport, ClockSeries } from "./clock-report.ts";

/** Runs in a worker, as the host does: how late the clock wakes, beside the platform's own timer. */
const DELAYS_MS = [0.1, 0.5, 1, 2, 5, 20, 100];
const SERIES_MS = 3_000;

const clock = createBrowserClock();

/** Milliseconds between the moment asked for and the wake. */
type Sleep = (delayMs: number) => Promise<number>;

const byClock: Sleep = (delayMs) =>
  new Promise((resolve) => {
    const dueNs = clock.nowNs() + delayMs * 1e6;
    clock.after(delayMs * 1e6, () => {
      resolve((clock.nowNs() - dueNs) / 1e6);
    });
  });

const byTimeout: Sleep = (delayMs) =>
  new Promise((resolve) => {
    const dueMs = performance.now() + delayMs;
    setTimeout(() => {
      resolve(performance.now() - dueMs);
    }, delayMs);
  });

/** What the machine itself adds: a thread that never sleeps is late only when another takes its core. */
const byLoop: Sleep = (delayMs) => {
  const dueMs = performance.now() + delayMs;
  let nowMs = performance.now();
  while (nowMs < dueMs) nowMs = performance.now();
  return Promise.resolve(nowMs - dueMs);
};

/** So many waits as fill the time, one after the other; each starts from a task of its own, as a request does. */
async function errorsOf(sleep: Sleep, delayMs: number): Promise<readonly number[]> {
  const errors: number[] = [];
  const count = Math.min(400, Math.ceil(SERIES_MS / (delayMs + 1)));
  const { port1, port2 } = new MessageChannel();
  for (let index = 0; index < count; index += 1) {
    await new Promise<unknown>((resolve) => {
      port1.onmessage = resolve;
      port2.postMessage(undefined);
    });
    errors.push(await sleep(delayMs));
  }
  port1.close();
  return errors;
}

async function measure(): Promise<ClockReport> {
  const series: ClockSeries[] = [];
  for (const delayMs of DELAYS_MS) {
    await errorsOf(byClock, delayMs / 10);
    series.push({
      delayMs,
      clockErrorsMs: await errorsOf(byClock, delayMs),
      timeoutErrorsMs: await errorsOf(byTimeout, delayMs),
      loopErrorsMs: await errorsOf(byLoop, delayMs),
    });
  }
  return { isolated: crossOriginIsolated, resolutionNs: clock.resolutionNs, series };
}

const report = await measure();
postMessage(report);
