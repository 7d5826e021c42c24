import { browserCode } from "./browser-code.ts";
import { browserPlatform } from "./instance-platform.ts";
import { runJavaScriptWorker } from "./javascript-worker.ts";

declare const self: DedicatedWorkerGlobalScope;

runJavaScriptWorker(self, {
  platform: browserPlatform(self),
  code: browserCode(self),
  onUncaught: (hear) => {
    // Left alone they would count as the end of the worker.
    self.addEventListener("error", (event) => {
      event.preventDefault();
      hear(event.error ?? event.message);
    });
    self.addEventListener("unhandledrejection", (event) => {
      event.preventDefault();
      hear(event.reason);
    });
  },
});
