import { runInstanceWorker } from "@naiad/runtime/in-process";
import { instanceThread } from "./instance-thread.ts";

const { platform, scope } = instanceThread();
runInstanceWorker(scope, { build: "wasm", load: () => import("onnxruntime-web") }, { platform });
