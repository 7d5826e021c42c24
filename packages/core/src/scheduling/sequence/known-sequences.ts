import { requestIdPrefix } from "@naiad/protocol";
import type { Logger } from "../../ports.ts";
import type { ValidRequest } from "../scheduler.ts";
import type { Admission } from "./admit-request.ts";
import { admitRequest } from "./admit-request.ts";
import type { ControlTensors } from "./control-tensors.ts";
import { createRecentEndings } from "./recent-endings.ts";
import { Sequence } from "./sequence.ts";
import type { SequenceState } from "./sequence-states.ts";
import { initialStates } from "./sequence-states.ts";

export interface KnownSequencesOptions {
  readonly modelName: string;
  readonly maxBatchSize: number;
  readonly correlationId: ControlTensors["correlationId"];
  readonly isIterative: boolean;
  readonly states: readonly SequenceState[];
  readonly logger: Logger;
}

/** The sequences that requests can go on with, by their ids. */
export class KnownSequences {
  readonly #options: KnownSequencesOptions;
  readonly #byId = new Map<string | bigint, Sequence>();
  readonly #endings = createRecentEndings();
  #count = 0;
  #lastGeneratedId = 0n;

  constructor(options: KnownSequencesOptions) {
    this.#options = options;
  }

  /** As `admitRequest`. */
  admit(request: ValidRequest, { isStopped }: { readonly isStopped: boolean }): Admission {
    return admitRequest(request, {
      ...this.#options,
      isStopped,
      isKnown: (id) => this.#byId.has(id),
      endingOf: (id) => this.#endings.reasonOf(id),
    });
  }

  /** The one that an admitted request goes on with or begins anew in its place, or a new one, which has no place yet. */
  sequenceOf(admission: Admission, request: ValidRequest): Sequence {
    const isGenerated = admission.kind === "generated";
    const id = isGenerated ? this.#generateId() : admission.id;
    const known = this.#byId.get(id);
    if (known === undefined) return this.#begin(id, { isGenerated });
    if (admission.kind === "start") {
      const { modelName, logger } = this.#options;
      logger.log(
        "warning",
        `${requestIdPrefix(request.id)}sequence ${id} for model '${modelName}' has a conflict. The previous sequence ` +
          "did not end before this sequence start. Previous sequence will be terminated early.",
      );
    }
    return known;
  }

  /** Its id is free for another. `reason`: why, where its client may not know. */
  forget(sequence: Sequence, reason?: string): void {
    const { id } = sequence;
    if (this.#byId.get(id) !== sequence) return;
    this.#byId.delete(id);
    if (reason !== undefined) this.#endings.add(id, reason);
  }

  #begin(id: string | bigint, { isGenerated }: { readonly isGenerated: boolean }): Sequence {
    this.#endings.forget(id);
    this.#count += 1;
    const states = initialStates(this.#options.states);
    const sequence = new Sequence({ id, states, order: this.#count });
    if (!isGenerated) this.#byId.set(id, sequence);
    return sequence;
  }

  #generateId(): bigint {
    do this.#lastGeneratedId += 1n;
    while (this.#byId.has(this.#lastGeneratedId));
    return this.#lastGeneratedId;
  }
}
