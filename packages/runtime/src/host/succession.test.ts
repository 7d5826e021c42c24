import { createMemoryFileStore } from "@naiad/core";
import { createCollectingLogger } from "@naiad/testing";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { createSuccession } from "./succession.ts";

describe("succession", () => {
  it("hands served models and settings to the successor of the last host only", async () => {
    const store = createMemoryFileStore();
    const first = createSuccession(store, createCollectingLogger());
    const file = { path: "1/w", size: 1, sha256: "a".repeat(64), chunks: ["b".repeat(64)] };
    const models = [
      { modelName: "m" },
      { modelName: "n", config: "{}" },
      { modelName: "o", config: "{}", files: [file] },
    ];
    const will = {
      hostId: "a",
      models,
      log: {
        log_info: false,
        log_warning: true,
        log_error: true,
        log_verbose_level: 2,
        log_format: "ISO8601",
      },
      trace: [
        { modelName: "", update: { trace_rate: "5" } },
        { modelName: "m", update: { trace_level: ["OFF"], trace_count: "3", log_frequency: "1" } },
      ],
    };
    first.leave({ ...will, models: models.slice(0, 1) });
    first.leave(will);
    const next = createSuccession(store, createCollectingLogger());
    await expect.poll(() => next.inheritedFrom("a")).toEqual(will);
    expect(await next.inheritedFrom("b")).toBeUndefined();
    expect(await next.latest()).toEqual(will);
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

  it("leaves out what is no model and no setting", async () => {
    const store = createMemoryFileStore();
    const text = JSON.stringify({
      hostId: "a",
      models: ["m", { modelName: 7 }, { modelName: "n" }],
      log: { log_info: 1, log_error: false, log_format: 5, log_verbose_level: "1" },
      trace: [1, { modelName: "m" }, { modelName: "m", update: { trace_rate: 5, trace_level: ["OFF", 1] } }],
    });
    await store.putDocument("last-host", text);
    const succession = createSuccession(store, createCollectingLogger());
    expect(await succession.inheritedFrom("a")).toEqual({
      hostId: "a",
      models: [{ modelName: "n" }],
      log: {
        log_info: null,
        log_warning: null,
        log_error: false,
        log_verbose_level: null,
        log_format: null,
      },
      trace: [{ modelName: "m", update: { trace_level: ["OFF"] } }],
    });
  });

  it("goes on where the list cannot be kept", async () => {
    const logger = createCollectingLogger();
    const store = {
      ...createMemoryFileStore(),
      putDocument: () => Promise.reject(new InferenceError("UNAVAILABLE", "the disk is full")),
    };
    createSuccession(store, logger).leave({
      hostId: "a",
      models: [{ modelName: "m" }],
      log: {},
      trace: [],
    });
    await expect
      .poll(() => logger.lines)
      .toEqual([{ level: "warning", message: "cannot keep the list of served models: the disk is full" }]);
  });
});
