import type { EdgeTrace, Tensor, TraceActivity, TracedRequest } from "@naiad/protocol";
import type { ExecutionTimes } from "../ports.ts";
import type { TraceGroup } from "./trace-group.ts";
import { tensorText } from "./tensor-text.ts";

/** What a request is to its trace. */
export interface TraceHead {
  readonly modelName: string;
  readonly version: number;
  readonly requestId: string;
}

/**
 * One traced request: where it comes by, its times and tensors are written here. Whoever was given it calls `end`, or
 * `finish`, once; with the last of those the trace is whole and nothing more is taken.
 */
export class RequestTrace implements EdgeTrace {
  readonly id: number;
  readonly #group: TraceGroup;
  readonly #parentId: number | undefined;

  constructor(group: TraceGroup, parentId?: number) {
    this.id = group.nextId();
    this.#group = group;
    this.#parentId = parentId;
  }

  /** Somebody else has it too, who will `end` it. */
  hold(): void {
    this.#group.hold();
  }

  /** The server takes the request on; it is to `finish` it. */
  begin({ modelName, version, requestId }: TraceHead, startNs: number): this {
    const request: TracedRequest = {
      id: this.id,
      ...(this.#parentId !== undefined && { parentId: this.#parentId }),
      modelName,
      modelVersion: version,
      requestId,
    };
    this.#group.open(this, request);
    this.mark("REQUEST_START", startNs);
    return this;
  }

  /** For a request that this one leads to. */
  child(): RequestTrace {
    return new RequestTrace(this.#group, this.id);
  }

  mark(name: string, ns: number = this.#group.nowNs()): void {
    if (!this.#group.level.includes("TIMESTAMPS")) return;
    this.#group.add({ kind: "timestamp", id: this.id, name, ns });
  }

  /** Its scheduler has taken it. */
  queued(ns: number, inputs: readonly Tensor[]): void {
    this.mark("QUEUE_START", ns);
    this.#tensors("TENSOR_QUEUE_INPUT", inputs);
  }

  /** It was executed from `startNs` on. */
  computed(startNs: number, { computeInputNs, computeInferNs, computeOutputNs }: ExecutionTimes): void {
    const inputEndNs = startNs + computeInputNs;
    const outputStartNs = inputEndNs + computeInferNs;
    this.mark("COMPUTE_START", startNs);
    this.mark("COMPUTE_INPUT_END", inputEndNs);
    this.mark("COMPUTE_OUTPUT_START", outputStartNs);
    this.mark("COMPUTE_END", outputStartNs + computeOutputNs);
  }

  /** A response, or what comes in its place, leaves its model for whoever asked. The tensors are not kept. */
  responded(outputs: readonly Tensor[]): void {
    this.#tensors("TENSOR_BACKEND_OUTPUT", outputs);
    // Triton's end points tell of it: requests of models and ensembles come by none.
    if (this.#parentId === undefined) this.mark("INFER_RESPONSE_COMPLETE");
  }

  /** The server is done with it. */
  finish(): void {
    this.mark("REQUEST_END");
    this.end();
  }

  end(): void {
    this.#group.close();
  }

  #tensors(
    activity: Extract<TraceActivity, { kind: "tensor" }>["activity"],
    tensors: readonly Tensor[],
  ): void {
    if (!this.#group.level.includes("TENSORS")) return;
    for (const tensor of tensors) {
      const { name, shape, datatype } = tensor;
      // What lies on a device is not read for it.
      const data = tensor.kind === "bytes" ? tensorText(tensor) : "";
      this.#group.add({ kind: "tensor", id: this.id, activity, name, data, shape: [...shape], datatype });
    }
  }
}
