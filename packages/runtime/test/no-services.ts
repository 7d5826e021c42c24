import { createCustomMetrics } from "@naiad/core";
import type { WorkerServices } from "../src/host/worker-services.ts";

const refuse = (): Promise<never> => Promise.reject(new Error("nothing asks in this test"));

/** What models may ask of a server where none does. */
export const NO_SERVICES: WorkerServices = {
  operations: {
    modelInfer: refuse,
    modelStreamInfer: refuse,
    repositoryModelLoad: refuse,
    repositoryModelUnload: refuse,
    modelReady: refuse,
  },
  metrics: createCustomMetrics(),
  tracing: { report: () => undefined },
};
