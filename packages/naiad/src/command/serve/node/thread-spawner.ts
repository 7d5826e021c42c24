import { Worker } from "node:worker_threads";
import type { LockManagerLike } from "@naiad/link";
import type { SpawnedWorker, WorkerSpawner } from "@naiad/runtime/platform";
import { serveLocks } from "./thread-locks.ts";
import type { InstanceThreadData } from "./thread-data.ts";
import { portPair } from "./thread-data.ts";

/**
 * Threads of Node.js as workers. Each is told apart from the others by its locks: those of a thread that has ended are free,
 * however it ended. A thread sees nothing of this process's environment.
 */
export function createThreadSpawner(locks: LockManagerLike): WorkerSpawner {
  return {
    spawn(url, name) {
      try {
        return spawned(new URL(url), name, locks);
      } catch (thrown) {
        return stillborn(thrown instanceof Error ? thrown.message : String(thrown));
      }
    },
  };
}

function spawned(script: URL, name: string, locks: LockManagerLike): SpawnedWorker {
  const host = portPair();
  const locking = portPair();
  const data: InstanceThreadData = { host: host.there, locks: locking.there };
  const worker = new Worker(script, {
    name,
    workerData: data,
    transferList: [host.there, locking.there],
    env: {},
    execArgv: [],
  });
  const forget = serveLocks(locking.here, locks);
  let wasTerminated = false;
  const failed = new Promise<string>((resolve) => {
    worker.once("error", (error) => {
      resolve(error.message);
    });
    worker.once("exit", (code) => {
      forget();
      if (!wasTerminated) resolve(`its thread ended with code ${String(code)}`);
    });
  });
  return {
    endpoint: host.here,
    failed,
    terminate() {
      wasTerminated = true;
      void worker.terminate();
    },
  };
}

function stillborn(reason: string): SpawnedWorker {
  return {
    endpoint: { postMessage: () => {}, addEventListener: () => {}, removeEventListener: () => {} },
    failed: Promise.resolve(reason),
    terminate: () => {},
  };
}
