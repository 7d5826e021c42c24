import { describe, expect, it } from "vitest";
import { deferred } from "./deferred.ts";
import { createStorageUse } from "./storage-use.ts";

/** Lets promises go on. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

describe("the use of the storage", () => {
  it("is what was said last, and is asked for again each time", async () => {
    const answers = [{ usage: 1, quota: 10 }, { usage: 2, quota: 10 }, { quota: 9 }];
    const use = createStorageUse(() => Promise.resolve(answers.shift() ?? {}));
    expect(use()).toBeUndefined();
    await settle();
    expect(use()).toEqual({ usedBytes: 1, quotaBytes: 10 });
    await settle();
    expect(use()).toEqual({ usedBytes: 2, quotaBytes: 10 });
    await settle();
    expect(use()).toEqual({ usedBytes: 0, quotaBytes: 9 });
    await settle();
    expect(use()).toBeUndefined();
  });

  it("waits for no answer and asks one question at a time", async () => {
    const first = deferred<StorageEstimate>();
    let asked = 0;
    const use = createStorageUse(() => {
      asked += 1;
      return first.promise;
    });
    expect([use(), use(), asked]).toEqual([undefined, undefined, 1]);
    first.resolve({ usage: 3, quota: 4 });
    await settle();
    expect(use()).toEqual({ usedBytes: 3, quotaBytes: 4 });
  });

  it("is unknown where the platform refuses", async () => {
    const use = createStorageUse(() => Promise.reject(new Error("no")));
    await settle();
    expect(use()).toBeUndefined();
  });
});
