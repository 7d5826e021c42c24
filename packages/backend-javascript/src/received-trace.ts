import type { InferenceTrace } from "./model/model.ts";

/** What a model is given of the trace of a request. */
export class ReceivedTrace implements InferenceTrace {
  readonly id: number;
  readonly #report: (activity: string) => void;

  constructor(id: number, report: (activity: string) => void) {
    this.id = id;
    this.#report = report;
  }

  reportActivity(name: string): void {
    this.#report(name);
  }
}
