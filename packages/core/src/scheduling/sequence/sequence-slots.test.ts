import { describe, expect, it } from "vitest";
import { SequenceSlots } from "./sequence-slots.ts";
import type { SlotAddress } from "./sequence-slots.ts";

function slots(count: number, names: readonly string[]): SequenceSlots<string> {
  const made = new SequenceSlots<string>(count);
  made.setInstances(names);
  return made;
}

function text(address: SlotAddress | undefined): string {
  return address === undefined ? "none" : `${address.instanceName}${address.index}`;
}

describe("SequenceSlots", () => {
  it("gives the lowest free slot of any instance, so that the load spreads", () => {
    const made = slots(2, ["a", "b"]);
    const given = ["1", "2", "3", "4", "5"].map((name) => text(made.assign(name)));
    expect(given).toEqual(["a0", "b0", "a1", "b1", "none"]);
  });

  it("gives a slot again once it is free, the lowest first", () => {
    const made = slots(3, ["a"]);
    const addresses = ["1", "2", "3"].map((name) => made.assign(name));
    for (const address of [addresses[2], addresses[0]]) if (address !== undefined) made.release(address);
    expect(made.on("a")).toEqual(["2"]);
    expect(text(made.assign("4"))).toBe("a0");
    expect(text(made.assign("5"))).toBe("a2");
    expect(made.on("a")).toEqual(["4", "2", "5"]);
  });

  it("keeps sequences on instances that stay and gives back those on others by slot", () => {
    const made = slots(2, ["a", "b", "c"]);
    for (const name of ["1", "2", "3", "4", "5", "6"]) made.assign(name);
    expect(made.setInstances(["d", "a"])).toEqual(["2", "3", "5", "6"]);
    expect(made.on("a")).toEqual(["1", "4"]);
    expect(made.on("b")).toEqual([]);
    expect(text(made.assign("7"))).toBe("d0");
  });

  it("has none without instances", () => {
    expect(text(slots(4, []).assign("1"))).toBe("none");
  });
});
