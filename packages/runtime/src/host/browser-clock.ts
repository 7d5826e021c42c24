import type { Clock } from "@naiad/core";
import { clockResolution } from "./clock-resolution.ts";
import { createPreciseWait } from "./precise-wait.ts";
import type { WaitPlatform } from "./precise-wait.ts";
import { createTimerQueue } from "./timer-queue.ts";

/**
 * The clock of workers. Not for a page: its timers are throttled while the tab is hidden, those of a worker are not.
 * `performance.now` steps by 5 us in an isolated context and by 100 us in others; how it does here is measured when it is
 * asked for the first time.
 */
export function createBrowserClock(platform: WaitPlatform = browserWaits()): Clock {
  const nowNs = (): number => Math.round(performance.now() * 1e6);
  const timers = createTimerQueue(nowNs, createPreciseWait(nowNs, platform));
  let resolutionNs: number | undefined;
  return {
    nowNs,
    epochMs: () => Date.now(),
    get resolutionNs() {
      return (resolutionNs ??= clockResolution(nowNs));
    },
    after: (delayNs, wake) => timers.after(delayNs, wake),
  };
}

function browserWaits(): WaitPlatform {
  const waitAsync = atomicsWait();
  const postTask = delayedTask();
  return {
    setTimeout: (wake, delayMs) => setTimeout(wake, delayMs),
    clearTimeout: (id) => {
      clearTimeout(id);
    },
    hop: channelHop(),
    ...(waitAsync === undefined ? {} : { waitAsync }),
    ...(postTask === undefined ? {} : { postTask }),
  };
}

/** `Atomics.waitAsync` is newer than the language level we compile for. */
interface WaitingAtomics extends Pick<Atomics, "notify"> {
  waitAsync?(
    array: Int32Array,
    index: number,
    value: number,
    timeoutMs: number,
  ): { readonly async: boolean; readonly value: string | Promise<string> };
}

function atomicsWait(): WaitPlatform["waitAsync"] {
  const atomics: WaitingAtomics = Atomics;
  if (typeof SharedArrayBuffer === "undefined" || atomics.waitAsync === undefined) return undefined;
  const cell = new Int32Array(new SharedArrayBuffer(4));
  return {
    wait: async (delayMs) => atomics.waitAsync?.(cell, 0, 0, delayMs).value,
    notify: () => {
      atomics.notify(cell, 0);
    },
  };
}

function delayedTask(): WaitPlatform["postTask"] {
  const scope: { readonly scheduler?: Pick<Scheduler, "postTask"> } = globalThis;
  const scheduler = scope.scheduler;
  if (scheduler === undefined) return undefined;
  return (wake, delay) => {
    // An error of `wake` must surface as one thrown from a timer would, not vanish in a promise.
    scheduler.postTask(wake, { delay, priority: "user-blocking" }).catch((error: unknown) => {
      queueMicrotask(() => {
        throw error;
      });
    });
  };
}

function channelHop(): WaitPlatform["hop"] {
  const { port1, port2 } = new MessageChannel();
  const waiting: (() => void)[] = [];
  port1.onmessage = () => waiting.shift()?.();
  return (wake) => {
    waiting.push(wake);
    port2.postMessage(undefined);
  };
}
