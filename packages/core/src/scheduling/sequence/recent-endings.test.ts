import { describe, expect, it } from "vitest";
import { createRecentEndings } from "./recent-endings.ts";

describe("recent endings", () => {
  it("are known by number and by text until the id is in use again", () => {
    const endings = createRecentEndings();
    endings.add(1n, "idle");
    endings.add("1", "lost");
    expect([endings.reasonOf(1n), endings.reasonOf("1"), endings.reasonOf(2n)]).toEqual([
      "idle",
      "lost",
      undefined,
    ]);
    endings.forget(1n);
    expect([endings.reasonOf(1n), endings.reasonOf("1")]).toEqual([undefined, "lost"]);
  });

  it("are the last thousand", () => {
    const endings = createRecentEndings();
    endings.add("first", "a");
    endings.add("second", "b");
    endings.add("first", "again");
    for (let id = 1n; id <= 999n; id += 1n) endings.add(id, "c");
    expect([endings.reasonOf("first"), endings.reasonOf("second"), endings.reasonOf(1n)]).toEqual([
      "again",
      undefined,
      "c",
    ]);
  });
});
