import type { Endpoint } from "@naiad/link";

/** A worker of our own, as its owner sees it. */
export interface SpawnedWorker {
  readonly endpoint: Endpoint;
  /**
   * Resolves with the reason when the worker failed by itself: its script did not load, or it threw outside of any call.
   * Stays pending otherwise; no event tells of a worker that the platform killed.
   */
  readonly failed: Promise<string>;
  /** Ends it in the middle of whatever it does. Idempotent. */
  terminate(): void;
}

export interface WorkerSpawner {
  /** Never throws: what goes wrong arrives through `failed`. `name` shows in developer tools. */
  spawn(url: string, name: string): SpawnedWorker;
}

/** Dedicated module workers. Nested ones start in 40 to 70 ms in every engine, also while the page is blocked. */
export const browserSpawner: WorkerSpawner = {
  spawn(url, name) {
    try {
      return spawned(new Worker(scriptUrl(url), { type: "module", name }));
    } catch (thrown) {
      return stillborn(thrown instanceof Error ? thrown.message : String(thrown));
    }
  },
};

function spawned(worker: Worker): SpawnedWorker {
  const failed = new Promise<string>((resolve) => {
    worker.addEventListener("error", (event) => {
      // Otherwise it goes on to the page as an uncaught error of the page's own.
      event.preventDefault();
      // A script that did not load gives a bare event without a message.
      resolve(event.message || "its script could not be loaded");
    });
  });
  return {
    endpoint: worker,
    failed,
    terminate: () => {
      worker.terminate();
    },
  };
}

/** A worker's script must be of the page's origin, but what that script imports need not be. */
function scriptUrl(url: string): string {
  if (new URL(url).origin === self.location.origin) return url;
  const source = `import ${JSON.stringify(url)};`;
  return URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
}

function stillborn(reason: string): SpawnedWorker {
  return {
    endpoint: { postMessage: () => {}, addEventListener: () => {}, removeEventListener: () => {} },
    failed: Promise.resolve(reason),
    terminate: () => {},
  };
}
