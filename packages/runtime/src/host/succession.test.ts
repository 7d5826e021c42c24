import { createMemoryFileStore } from "@naiad/core";
import { createCollectingLogger } from "@naiad/testing";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { createSuccession } from "./succession.ts";

describe("succession", () => {
  it("hands the served models to the successor of the last host only", async () => {
    const store = createMemoryFileStore();
    const first = createSuccession(store, createCollectingLogger());
    const file = { path: "1/w", size: 1, sha256: "a".repeat(64), chunks: ["b".repeat(64)] };
    const models = [
      { modelName: "m" },
      { modelName: "n", config: "{}" },
      { modelName: "o", config: "{}", files: [file] },
    ];
    first.leave("a", models.slice(0, 1));
    first.leave("a", models);
    const next = createSuccession(store, createCollectingLogger());
    await expect.poll(() => next.inheritedFrom("a")).toEqual(models);
    expect(await next.inheritedFrom("b")).toBeUndefined();
  });

  it.each([
    "{}",
    '{"hostId":1,"models":[]}',
    '{"hostId":"a","models":"m"}',
    "null",
    "{",
    '{"hostId":"a","models":[{"modelName":"m","files":[{"path":"../x"}]}]}',
  ])("ignores %s", async (text) => {
    const store = createMemoryFileStore();
    await store.putDocument("last-host", text);
    expect(await createSuccession(store, createCollectingLogger()).inheritedFrom("a")).toBeUndefined();
  });

  it("leaves out what is no model", async () => {
    const store = createMemoryFileStore();
    await store.putDocument("last-host", '{"hostId":"a","models":["m",{"modelName":7},{"modelName":"n"}]}');
    const succession = createSuccession(store, createCollectingLogger());
    expect(await succession.inheritedFrom("a")).toEqual([{ modelName: "n" }]);
  });

  it("goes on where the list cannot be kept", async () => {
    const logger = createCollectingLogger();
    const store = {
      ...createMemoryFileStore(),
      putDocument: () => Promise.reject(new InferenceError("UNAVAILABLE", "the disk is full")),
    };
    createSuccession(store, logger).leave("a", [{ modelName: "m" }]);
    await expect
      .poll(() => logger.lines)
      .toEqual([{ level: "warning", message: "cannot keep the list of served models: the disk is full" }]);
  });
});
