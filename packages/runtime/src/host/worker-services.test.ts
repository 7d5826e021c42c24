import { InferenceError } from "@naiad/protocol";
import { createCustomMetrics } from "@naiad/core";
import { describe, expect, it } from "vitest";
import { workerHandlers } from "./worker-services.ts";
import type { WorkerServices } from "./worker-services.ts";

type ModelReady = WorkerServices["operations"]["modelReady"];

function ask(modelReady: ModelReady): Promise<unknown> {
  const unused = (): Promise<never> => Promise.reject(new Error("nobody asks for this"));
  const { calls } = workerHandlers({
    services: {
      operations: {
        modelInfer: unused,
        modelStreamInfer: unused,
        repositoryModelLoad: unused,
        repositoryModelUnload: unused,
        modelReady,
      },
      metrics: createCustomMetrics(),
      tracing: { report: () => undefined },
    },
    onWait: () => () => undefined,
  });
  const context = { signal: new AbortController().signal };
  return Promise.resolve(calls.modelReady({ modelName: "m", modelVersion: "" }, context));
}

describe("a model that asks whether another one is ready", () => {
  it("hears no of one that is not loaded, where a client hears an error", async () => {
    const unknown = new InferenceError("NOT_FOUND", "Request for unknown model: 'm' is not found");
    expect(await ask(() => Promise.reject(unknown))).toEqual({ value: { ready: false } });
  });

  it("hears of everything else that goes wrong", async () => {
    const starting = new InferenceError("UNAVAILABLE", "Server not ready");
    await expect(ask(() => Promise.reject(starting))).rejects.toThrow("Server not ready");
  });
});

describe("a model that asks another one", () => {
  it("does so within the trace of the request that it works on, or untraced", async () => {
    const contexts: unknown[] = [];
    const unused = (): Promise<never> => Promise.reject(new Error("nobody asks for this"));
    const reported: unknown[] = [];
    const { calls, notes } = workerHandlers({
      services: {
        operations: {
          modelInfer: ({ modelName }, { trace }) => {
            contexts.push(trace);
            return Promise.resolve({ modelName, modelVersion: "1", id: "", parameters: {}, outputs: [] });
          },
          modelStreamInfer: unused,
          repositoryModelLoad: unused,
          repositoryModelUnload: unused,
          modelReady: unused,
        },
        metrics: createCustomMetrics(),
        tracing: { report: (...activity) => reported.push(activity) },
      },
      onWait: () => () => undefined,
    });
    const request = { modelName: "m", modelVersion: "", id: "", parameters: {}, inputs: [], outputs: [] };
    const context = { signal: new AbortController().signal };
    await calls.infer({ ...request, traceParentId: 7 }, context);
    await calls.infer(request, context);
    expect(contexts).toEqual([
      { kind: "inner", parentId: 7 },
      { kind: "inner", parentId: undefined },
    ]);
    notes.traceActivity({ traceId: 7, activity: "SORT_START" });
    expect(reported).toEqual([[7, "SORT_START"]]);
  });
});
