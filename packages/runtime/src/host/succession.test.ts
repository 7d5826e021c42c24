import { createMemoryFileStore } from "@naiad/core";
import { createCollectingLogger } from "@naiad/testing";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { createSuccession } from "./succession.ts";

describe("succession", () => {
  it("hands the served models to the successor of the last host only", async () => {
    const store = createMemoryFileStore();
    const first = createSuccession(store, createCollectingLogger());
    first.leave("a", ["m"]);
    first.leave("a", ["m", "n"]);
    const next = createSuccession(store, createCollectingLogger());
    await expect.poll(() => next.inheritedFrom("a")).toEqual(["m", "n"]);
    expect(await next.inheritedFrom("b")).toBeUndefined();
  });

  it.each(["{}", '{"hostId":1,"models":[]}', '{"hostId":"a","models":"m"}', "null"])(
    "ignores %s",
    async (text) => {
      const store = createMemoryFileStore();
      await store.putDocument("last-host", text);
      expect(await createSuccession(store, createCollectingLogger()).inheritedFrom("a")).toBeUndefined();
    },
  );

  it("goes on where the list cannot be kept", async () => {
    const logger = createCollectingLogger();
    const store = {
      ...createMemoryFileStore(),
      putDocument: () => Promise.reject(new InferenceError("UNAVAILABLE", "the disk is full")),
    };
    createSuccession(store, logger).leave("a", ["m"]);
    await expect
      .poll(() => logger.lines)
      .toEqual([{ level: "warning", message: "cannot keep the list of served models: the disk is full" }]);
  });
});
