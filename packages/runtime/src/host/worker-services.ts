import type { CustomMetrics, Tracing } from "@naiad/core";
import type { ChannelHandlers } from "@naiad/link";
import type { InferenceResponse, OperationContext, OperationHandlers } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { InstanceHostContract, ModelInferRequest } from "../contracts.ts";
import { giveTensors } from "./tensor-transfer.ts";

/** What the models in instance workers may ask of the server. */
export interface WorkerServices {
  readonly operations: Pick<
    OperationHandlers,
    "modelInfer" | "modelStreamInfer" | "repositoryModelLoad" | "repositoryModelUnload" | "modelReady"
  >;
  readonly metrics: CustomMetrics;
  readonly tracing: Pick<Tracing, "report">;
}

/** What a worker waits for: another model's answer, or a model that is loaded or unloaded. */
export type WorkerWait = "answer" | "model";

export interface WorkerHandlersOptions {
  readonly services: WorkerServices;
  /** Told when the worker begins to wait for the host; the result says that it has ended. */
  readonly onWait: (wait: WorkerWait) => () => void;
}

type WorkerHandlers = Pick<ChannelHandlers<InstanceHostContract>, "calls" | "streams"> & {
  readonly notes: Pick<ChannelHandlers<InstanceHostContract>["notes"], "metric" | "traceActivity">;
};

/** Answers a worker from the server's operations. */
export function workerHandlers({ services, onWait }: WorkerHandlersOptions): WorkerHandlers {
  const { operations, metrics, tracing } = services;

  async function waiting<Value>(wait: WorkerWait, task: () => Promise<Value>): Promise<Value> {
    const ended = onWait(wait);
    try {
      return await task();
    } finally {
      ended();
    }
  }

  return {
    calls: {
      infer: (request, context) =>
        waiting("answer", async () =>
          giveResponse(await operations.modelInfer(request, innerContext(request, context))),
        ),
      loadModel: (input, context) =>
        waiting("model", async () => ({ value: await operations.repositoryModelLoad(input, context) })),
      unloadModel: (input, context) =>
        waiting("model", async () => ({ value: await operations.repositoryModelUnload(input, context) })),
      modelReady: async (input, context) => ({
        value: await operations.modelReady(input, context).catch(notReadyWhereUnknown),
      }),
      // eslint-disable-next-line @typescript-eslint/require-await -- a handler answers with a promise, and an error is a rejection
      declareMetric: async (family) => {
        metrics.declare(family);
        return { value: {} };
      },
      // eslint-disable-next-line @typescript-eslint/require-await -- as above
      metricValue: async (metric) => ({ value: { value: metrics.value(metric) } }),
    },
    streams: {
      inferStream: async function* (request, context) {
        // Between two responses the model works by itself.
        const responses = await waiting("answer", () =>
          operations.modelStreamInfer(request, innerContext(request, context)),
        );
        const iterator = responses[Symbol.asyncIterator]();
        try {
          for (;;) {
            const next = await waiting("answer", () => iterator.next());
            if (next.done === true) return;
            yield giveResponse(next.value);
          }
        } finally {
          await iterator.return?.();
        }
      },
    },
    notes: {
      metric: (update) => {
        metrics.update(update);
      },
      traceActivity: ({ traceId, activity }) => {
        tracing.report(traceId, activity);
      },
    },
  };
}

function innerContext(
  { traceParentId }: ModelInferRequest,
  { signal }: Pick<OperationContext, "signal">,
): OperationContext {
  return { signal, trace: { kind: "inner", parentId: traceParentId } };
}

/** A model asks in order to load what is not there; clients get the error. */
function notReadyWhereUnknown(thrown: unknown): { readonly ready: boolean } {
  const error = InferenceError.from(thrown);
  if (error.code !== "NOT_FOUND") throw error;
  return { ready: false };
}

function giveResponse<Response extends InferenceResponse>(
  response: Response,
): {
  readonly value: Response;
  readonly transfer: readonly Transferable[];
} {
  const { value: outputs, transfer } = giveTensors(response.outputs);
  return { value: { ...response, outputs }, transfer };
}
