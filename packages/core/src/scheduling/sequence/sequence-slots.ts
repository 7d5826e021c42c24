import { invariant } from "@naiad/protocol";

/** A place for one sequence on one instance. */
export interface SlotAddress {
  readonly instanceName: string;
  readonly index: number;
}

/**
 * Which sequence is in which slot of which instance. A new sequence goes to the lowest slot that is free on any of them,
 * so that the load spreads.
 */
export class SequenceSlots<Sequence> {
  readonly #slotsPerInstance: number;
  /** In the order of the instances; each list ends with a sequence. */
  #instances = new Map<string, (Sequence | undefined)[]>();

  constructor(slotsPerInstance: number) {
    this.#slotsPerInstance = slotsPerInstance;
  }

  /** Returns the sequences that lose their slot because their instance is not among the names, in order of their slots. */
  setInstances(names: readonly string[]): readonly Sequence[] {
    const before = this.#instances;
    this.#instances = new Map(names.map((name) => [name, before.get(name) ?? []]));
    const homeless = [...before].flatMap(([name, slots]) => (this.#instances.has(name) ? [] : [slots]));
    const longest = Math.max(0, ...homeless.map((slots) => slots.length));
    const displaced: Sequence[] = [];
    for (let index = 0; index < longest; index += 1) {
      for (const slots of homeless) {
        const sequence = slots[index];
        if (sequence !== undefined) displaced.push(sequence);
      }
    }
    return displaced;
  }

  /** `undefined` when every slot is taken. */
  assign(sequence: Sequence): SlotAddress | undefined {
    let best: SlotAddress | undefined;
    for (const [instanceName, slots] of this.#instances) {
      const index = lowestFree(slots);
      if (index < (best?.index ?? this.#slotsPerInstance)) best = { instanceName, index };
    }
    if (best !== undefined) this.#slotsOf(best)[best.index] = sequence;
    return best;
  }

  release(address: SlotAddress): void {
    const slots = this.#slotsOf(address);
    slots[address.index] = undefined;
    while (slots.length > 0 && slots.at(-1) === undefined) slots.pop();
  }

  /** Those on one instance, in the order of their slots. */
  on(instanceName: string): readonly Sequence[] {
    return (this.#instances.get(instanceName) ?? []).filter((sequence) => sequence !== undefined);
  }

  #slotsOf({ instanceName }: SlotAddress): (Sequence | undefined)[] {
    const slots = this.#instances.get(instanceName);
    invariant(slots !== undefined, `'${instanceName}' has slots`);
    return slots;
  }
}

function lowestFree(slots: readonly unknown[]): number {
  const hole = slots.indexOf(undefined);
  return hole < 0 ? slots.length : hole;
}
