import type { ExecuteContext, ExecutionResult, InstanceRequest, LossResult } from "@naiad/core";
import type { Channel, FaultHook } from "@naiad/link";
import { InferenceError } from "@naiad/protocol";
import type { InstanceContract } from "../contracts.ts";
import type { OwedCalls } from "./owed-calls.ts";
import type { InstanceOrder } from "./remote-instance.ts";
import type { ResponseInlets } from "./response-inlets.ts";
import type { WorkerTensors } from "./worker-tensors.ts";

/** What an execution needs of the worker that it is for. */
export interface ExecutingWorker {
  readonly channel: Channel<InstanceContract>;
  readonly inlets: ResponseInlets;
  readonly tensors: WorkerTensors;
  readonly owed: OwedCalls;
  /** What has become of the instance where its worker has ended; `undefined` while that lives. */
  readonly loss: (instanceId: string) => LossResult | undefined;
  readonly fault?: FaultHook;
}

export interface WorkerExecution {
  readonly order: InstanceOrder;
  readonly requests: readonly InstanceRequest[];
  readonly transfer: readonly Transferable[];
  /** Absent where no request may be answered other than by its outcome. */
  readonly context: ExecuteContext | undefined;
}

/** One execution in a worker. Never rejects: a call that fails as a whole is the error of each of its requests. */
export async function executeInWorker(
  worker: ExecutingWorker,
  { order, requests, transfer, context }: WorkerExecution,
): Promise<ExecutionResult> {
  const { channel, inlets, tensors, owed, loss, fault } = worker;
  const { instanceId, limits } = order;
  const lostBefore = loss(instanceId);
  if (lostBefore !== undefined) return lostBefore;
  let executionId: number | undefined;
  try {
    // Without a fault hook it is posted at once, before any tensor that it reads can be disposed.
    if (fault !== undefined) await fault("host.before-dispatch", instanceId);
    const named = context !== undefined && { executionId: (executionId = inlets.open(context)) };
    const answer = channel.call("execute", { instanceId, requests, ...named }, { transfer });
    const execution = await owed.wait({ instanceId, kind: "execute", limits }, answer);
    tensors.add(execution.outcomes);
    if (executionId !== undefined) inlets.executed(executionId, execution.outcomes);
    return { kind: "completed", ...execution };
  } catch (thrown) {
    const lost = loss(instanceId);
    if (lost !== undefined) return lost;
    if (executionId !== undefined) inlets.executed(executionId, []);
    const error = InferenceError.from(thrown).toWire();
    return {
      kind: "completed",
      outcomes: requests.map(() => ({ kind: "error", error })),
      times: { computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 },
    };
  }
}
