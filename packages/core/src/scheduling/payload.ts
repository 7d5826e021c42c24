import type { BatchLimit } from "../statistics/model-statistics.ts";
import type { QueuedRequest } from "./queued-request.ts";
import type { PayloadMarks, WaitingPayload } from "./select-batch.ts";

/** A batch of the dynamic batcher that is being built or waits for an instance. */
export class Payload implements WaitingPayload {
  requests: QueuedRequest[] = [];
  rows: number = 0;
  oldestNs: number = Infinity;
  saturated: boolean = false;
  shapeLimited: boolean = false;
  /** It stood open while all instances were busy. */
  waited: boolean = false;
  #limit: BatchLimit = "instance_busy";

  get limit(): BatchLimit {
    return this.waited && !this.saturated ? "instance_busy" : this.#limit;
  }

  get shapeKey(): string {
    return this.requests[0]?.shapeKey ?? "";
  }

  add(requests: readonly QueuedRequest[]): void {
    for (const request of requests) {
      this.requests.push(request);
      this.rows += request.rows;
      this.oldestNs = Math.min(this.oldestNs, request.enqueueNs);
    }
  }

  remove(request: QueuedRequest): void {
    const rest = this.requests.filter((other) => other !== request);
    this.requests = [];
    this.rows = 0;
    this.oldestNs = Infinity;
    this.add(rest);
  }

  mark({ saturated, shapeLimited, limit }: PayloadMarks): void {
    this.saturated = saturated;
    this.shapeLimited ||= shapeLimited;
    this.#limit = limit;
  }
}
