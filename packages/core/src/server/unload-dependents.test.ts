import { createCollectingLogger, createFakeClock, SERVER_OPTIONS } from "@naiad/testing";
import { expect, it } from "vitest";
import { createModelLifecycle } from "../lifecycle/model-lifecycle.ts";
import type { ModelControl } from "./model-control.ts";
import { createModelControl } from "./model-control.ts";

/** A control in which `ensemble` has brought two models along. */
function setUp(): { readonly control: ModelControl; readonly unloaded: readonly string[] } {
  const logger = createCollectingLogger();
  const unloaded: string[] = [];
  const lifecycle = createModelLifecycle({ logger, onChange: () => undefined });
  const refuse = (): Promise<never> => Promise.reject(new Error("not in this test"));
  const control = createModelControl({
    options: SERVER_OPTIONS,
    sources: [],
    lifecycle: {
      ...lifecycle,
      unload: (modelName) => {
        unloaded.push(modelName);
        return Promise.resolve();
      },
      // Nobody depends any more on what is gone.
      goesWith: (modelName) =>
        modelName === "ensemble" && !unloaded.includes("ensemble") ? ["first", "second"] : [],
    },
    loader: { poll: refuse, pollAgain: refuse },
    clock: createFakeClock(),
    logger,
  });
  return { control, unloaded };
}

it("unloads a model first and then what was loaded for it alone, where that is asked for", async () => {
  const { control, unloaded } = setUp();
  await control.unload({ modelName: "ensemble", unloadDependents: true });
  expect(unloaded).toEqual(["ensemble", "first", "second"]);
});

it("unloads nothing else otherwise", async () => {
  const { control, unloaded } = setUp();
  await control.unload({ modelName: "ensemble", unloadDependents: false });
  await control.unload({ modelName: "other", unloadDependents: true });
  expect(unloaded).toEqual(["ensemble", "other"]);
});
