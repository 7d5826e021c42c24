import { runJavaScriptWorker } from "@naiad/runtime/in-process";
import { instanceThread } from "./instance-thread.ts";
import { nodeCode } from "./node-code.ts";

const { platform, scope } = instanceThread();
runJavaScriptWorker(scope, {
  platform,
  code: nodeCode,
  onUncaught: (hear) => {
    // Left alone they would end the thread.
    process.on("uncaughtException", hear);
    process.on("unhandledRejection", hear);
  },
});
