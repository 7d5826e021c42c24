import { engine } from "@naiad/backend-onnxruntime/engine-jspi";
import { browserPlatform } from "./instance-platform.ts";
import { runInstanceWorker } from "./instance-worker.ts";

declare const self: DedicatedWorkerGlobalScope;

runInstanceWorker(self, engine, { platform: browserPlatform(self) });
