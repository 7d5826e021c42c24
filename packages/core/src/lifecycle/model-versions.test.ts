import { InferenceError } from "@naiad/protocol";
import { createCollectingLogger, fakeServing } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { ModelVersions } from "./model-versions.ts";
import { createModelVersions } from "./model-versions.ts";
import type { LoadPlan, ServingVersion, VersionUpdate } from "./serving-version.ts";

const { signal } = new AbortController();

interface Bench {
  readonly versions: ModelVersions;
  /** `version state reason` of each change. */
  readonly changes: readonly string[];
  readonly logged: readonly { readonly message: string }[];
}

function bench(): Bench {
  const changes: string[] = [];
  const logger = createCollectingLogger();
  const versions = createModelVersions({
    modelName: "m",
    logger,
    onChange: ({ version, state, reason }) => changes.push(`${String(version)} ${state} ${reason}`.trim()),
  });
  return { versions, changes, logged: logger.lines };
}

let keys = 0;

/** Parts of a plan that shares nothing with another. */
const NOTHING = {
  origin: { modelName: "m" },
  missingVersionHint: "put the model file into '1/'",
  reuseKey: () => String((keys += 1)),
  update: () => Promise.reject(new Error("not planned")),
};

function plan(...results: readonly (ServingVersion | [version: number, error: Error])[]): LoadPlan {
  const byVersion = new Map<number, ServingVersion | Error>(
    results.map((result) => ("version" in result ? [result.version, result] : result)),
  );
  return {
    ...NOTHING,
    versions: [...byVersion.keys()],
    load: (version) => {
      const result = byVersion.get(version);
      return result === undefined || result instanceof Error
        ? Promise.reject(result ?? new Error("not planned"))
        : Promise.resolve(result);
    },
  };
}

function shown(versions: ModelVersions): readonly string[] {
  return versions
    .states()
    .map(({ version, state, reason }) => `${String(version)} ${state} ${reason}`.trim());
}

describe("load", () => {
  it("shows the way of each version", async () => {
    const { versions, changes } = bench();
    await versions.load(plan(fakeServing(1), fakeServing(2, { note: "runs on the CPU" })), signal);
    expect(changes).toEqual(["1 LOADING", "2 LOADING", "1 READY", "2 READY runs on the CPU"]);
    expect(versions.ready().map(({ version }) => version)).toEqual([1, 2]);
  });

  it("throws the other new versions away when one fails, and names every failure", async () => {
    const { versions, changes } = bench();
    const good = fakeServing(1);
    const failing = plan(
      good,
      [2, new InferenceError("UNSUPPORTED", "no such operator")],
      [3, new InferenceError("INVALID_ARG", "bad shape")],
    );
    await expect(versions.load(failing, signal)).rejects.toMatchObject({
      code: "INVALID_ARG",
      message:
        "load failed for model 'm': version 2 is at UNAVAILABLE state: Unsupported: no such operator;\n" +
        "version 3 is at UNAVAILABLE state: Invalid argument: bad shape;\n",
    });
    expect(good.retired).toBe(true);
    await versions.drained();
    expect(changes).toEqual([
      "1 LOADING",
      "2 LOADING",
      "3 LOADING",
      "2 UNAVAILABLE Unsupported: no such operator",
      "3 UNAVAILABLE Invalid argument: bad shape",
      "1 UNLOADING",
      "1 UNAVAILABLE unloaded",
    ]);
    expect(versions.ready()).toEqual([]);
  });

  it("keeps what was served when a new load fails", async () => {
    const { versions, changes } = bench();
    const old = fakeServing(1);
    await versions.load(plan(old), signal);
    const discarded = fakeServing(2);
    await expect(versions.load(plan([1, new Error("broken")], discarded), signal)).rejects.toThrow(
      "load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: broken;\n",
    );
    expect(versions.find(1)).toBe(old);
    expect(versions.find(undefined)).toBe(old);
    expect(old.retired).toBe(false);
    expect(discarded.retired).toBe(true);
    expect(changes.filter((change) => change.startsWith("1"))).toEqual(["1 LOADING", "1 READY"]);
  });

  it("serves the old version until the new one is ready, without a moment in between", async () => {
    const { versions, changes } = bench();
    const old = fakeServing(1);
    const fresh = fakeServing(1);
    await versions.load(plan(old), signal);
    let finish: (serving: ServingVersion) => void = () => undefined;
    const loading = versions.load(
      { ...NOTHING, versions: [1], load: () => new Promise((resolve) => (finish = resolve)) },
      signal,
    );
    await Promise.resolve();
    expect(versions.find(1)).toBe(old);
    expect(versions.isReady(1)).toBe(true);
    finish(fresh);
    await loading;
    expect(versions.find(1)).toBe(fresh);
    expect(old.retired).toBe(true);
    await versions.drained();
    expect(changes).toEqual(["1 LOADING", "1 READY", "1 READY"]);
  });

  it("unloads versions that the new set does not have", async () => {
    const { versions } = bench();
    const first = fakeServing(1);
    await versions.load(plan(first, fakeServing(2)), signal);
    await versions.load(plan(fakeServing(2), fakeServing(3)), signal);
    expect(first.retired).toBe(true);
    await versions.drained();
    expect(shown(versions)).toEqual(["1 UNAVAILABLE unloaded", "2 READY", "3 READY"]);
  });

  it("refuses a set without versions and keeps what is served", async () => {
    const { versions } = bench();
    await versions.load(plan(fakeServing(1)), signal);
    await expect(versions.load(plan(), signal)).rejects.toMatchObject({
      code: "INVALID_ARG",
      message:
        "load failed for model 'm': at least one version must be available under the version policy of model 'm'\n" +
        "put the model file into '1/'",
    });
    expect(shown(versions)).toEqual(["1 READY"]);
  });

  it("throws away what arrives after an abort", async () => {
    const { versions } = bench();
    const aborted = new AbortController();
    const late = fakeServing(1);
    const loading = versions.load(
      {
        ...NOTHING,
        versions: [1],
        load: () => {
          aborted.abort(new InferenceError("CANCELLED", "the server is stopping"));
          return Promise.resolve(late);
        },
      },
      aborted.signal,
    );
    await expect(loading).rejects.toThrow(
      "version 1 is at UNAVAILABLE state: Cancelled: the server is stopping;\n",
    );
    expect(late.retired).toBe(true);
    expect(shown(versions)).toEqual(["1 UNAVAILABLE Cancelled: the server is stopping"]);
  });
});

describe("unload", () => {
  it("takes versions out of service at once and shows them as unloading until they are drained", async () => {
    const { versions } = bench();
    const serving = fakeServing(1, { drains: "by hand" });
    await versions.load(plan(serving), signal);
    versions.unload();
    expect(serving.retired).toBe(true);
    expect(shown(versions)).toEqual(["1 UNLOADING"]);
    expect(() => versions.find(1)).toThrow("'m' version 1 is not at ready state");
    expect(() => versions.find(undefined)).toThrow("'m' has no available versions");
    serving.drain();
    await versions.drained();
    expect(shown(versions)).toEqual(["1 UNAVAILABLE unloaded"]);
  });

  it("leaves the reason of a failed version", async () => {
    const { versions } = bench();
    await expect(versions.load(plan([1, new Error("no")]), signal)).rejects.toThrow("Internal: no");
    versions.unload();
    expect(shown(versions)).toEqual(["1 UNAVAILABLE Internal: no"]);
  });

  it("does not let a late drain hide a version that was loaded again", async () => {
    const { versions, changes } = bench();
    const old = fakeServing(1, { drains: "by hand" });
    await versions.load(plan(old), signal);
    versions.unload();
    await versions.load(plan(fakeServing(1)), signal);
    old.drain();
    await versions.drained();
    expect(shown(versions)).toEqual(["1 READY"]);
    expect(changes).toEqual(["1 LOADING", "1 READY", "1 UNLOADING", "1 LOADING", "1 READY"]);
  });

  it("logs what could not be freed and goes on", async () => {
    const { versions, logged } = bench();
    const serving = fakeServing(1, { drains: "by hand" });
    await versions.load(plan(serving), signal);
    versions.unload();
    serving.failToDrain(new Error("stuck"));
    await versions.drained();
    expect(shown(versions)).toEqual(["1 UNAVAILABLE unloaded"]);
    expect(logged.map(({ message }) => message)).toEqual(["failed to free 'm' version 1: stuck"]);
  });
});

describe("find", () => {
  it("gives the greatest ready version when none is named", async () => {
    const { versions } = bench();
    await versions.load(plan(fakeServing(9), fakeServing(10)), signal);
    expect(versions.find(undefined).version).toBe(10);
  });

  it("tells versions that were never tried from those that are not ready", async () => {
    const { versions } = bench();
    await expect(versions.load(plan([1, new Error("no")]), signal)).rejects.toThrow();
    expect(() => versions.find(2)).toThrow("'m' version 2 is not found");
    expect(() => versions.isReady(2)).toThrow("'m' version 2 is not found");
    expect(versions.isReady(1)).toBe(false);
    expect(versions.isReady(undefined)).toBe(false);
  });

  it("does not call a version ready of which every instance was given up", async () => {
    const { versions } = bench();
    await versions.load(plan(fakeServing(1), fakeServing(2, { isLost: true })), signal);
    expect(versions.isReady(1)).toBe(true);
    expect(versions.isReady(2)).toBe(false);
    expect(versions.isReady(undefined)).toBe(true);
  });
});

describe("a version of which only the instances change", () => {
  /** As `plan`, for versions of which nothing but that differs from one plan to the next. */
  function samePlan(
    results: readonly (ServingVersion | [version: number, error: Error])[],
    update: (serving: ServingVersion) => Promise<VersionUpdate> = NOTHING.update,
  ): LoadPlan {
    return { ...plan(...results), reuseKey: String, update };
  }

  interface Prepared extends VersionUpdate {
    readonly ends: readonly string[];
  }

  function prepared(serving: ServingVersion): Prepared {
    const ends: string[] = [];
    return {
      ends,
      commit: () => {
        ends.push("committed");
        return serving;
      },
      abandon: () => {
        ends.push("abandoned");
        return Promise.resolve();
      },
    };
  }

  it("stays ready and is not retired, and others come and go with it", async () => {
    const { versions, changes } = bench();
    const [first, second] = [fakeServing(1), fakeServing(2)];
    await versions.load(samePlan([first, second]), signal);
    const updated = fakeServing(2, { note: "instance m_0 runs on the CPU" });
    const third = fakeServing(3);
    await versions.load(
      samePlan([fakeServing(2), third], (serving) => {
        expect(serving).toBe(second);
        return Promise.resolve(prepared(updated));
      }),
      signal,
    );
    expect(versions.ready()).toEqual([updated, third]);
    expect([first, second, updated].map(({ retired }) => retired)).toEqual([true, false, false]);
    await versions.drained();
    expect(changes.slice(4)).toEqual([
      "3 LOADING",
      "2 READY instance m_0 runs on the CPU",
      "3 READY",
      "1 UNLOADING",
      "1 UNAVAILABLE unloaded",
    ]);
  });

  it("stays as it was when another version of the load fails", async () => {
    const { versions, changes } = bench();
    const old = fakeServing(1);
    await versions.load(samePlan([old]), signal);
    const update = prepared(fakeServing(1));
    const failing = samePlan([old, [2, new Error("broken")]], () => Promise.resolve(update));
    await expect(versions.load(failing, signal)).rejects.toThrow("version 2 is at UNAVAILABLE state");
    expect(update.ends).toEqual(["abandoned"]);
    expect(versions.find(1)).toBe(old);
    expect(old.retired).toBe(false);
    expect(changes.filter((change) => change.startsWith("1"))).toEqual(["1 LOADING", "1 READY"]);
  });

  it("stays as it was when its new instances cannot be made, or nobody wants them any more", async () => {
    const { versions } = bench();
    const old = fakeServing(1);
    await versions.load(samePlan([old]), signal);
    await expect(
      versions.load(
        samePlan([old], () => Promise.reject(new InferenceError("INTERNAL", "no memory"))),
        signal,
      ),
    ).rejects.toThrow("load failed for model 'm': version 1 is at UNAVAILABLE state: Internal: no memory;\n");
    const aborted = new AbortController();
    const late = prepared(fakeServing(1));
    const loading = versions.load(
      samePlan([old], () => {
        aborted.abort(new InferenceError("CANCELLED", "the server is stopping"));
        return Promise.resolve(late);
      }),
      aborted.signal,
    );
    await expect(loading).rejects.toThrow("the server is stopping");
    expect(late.ends).toEqual(["abandoned"]);
    expect(shown(versions)).toEqual(["1 READY"]);
    expect(old.retired).toBe(false);
  });

  it("is loaded like any other once it was unloaded", async () => {
    const { versions } = bench();
    await versions.load(samePlan([fakeServing(1)]), signal);
    versions.unload();
    const fresh = fakeServing(1);
    await versions.load(samePlan([fresh]), signal);
    expect(versions.find(1)).toBe(fresh);
  });
});
