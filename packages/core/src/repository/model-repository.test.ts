import { InferenceError } from "@naiad/protocol";
import { createMemoryRepository } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import type { ManifestModel } from "../ports.ts";
import { modelFingerprint, readRepositories, requireModel } from "./model-repository.ts";

const { signal } = new AbortController();

describe("readRepositories", () => {
  it("joins the models of all repositories in the order of their names", async () => {
    const first = createMemoryRepository({ b: {}, d: {} }, { id: "first" });
    const second = createMemoryRepository({ c: {}, a: {} }, { id: "second" });
    const snapshot = await readRepositories([first, second], signal);
    expect([...snapshot.models].map(([name, { source }]) => [name, source.id])).toEqual([
      ["a", "second"],
      ["b", "first"],
      ["c", "second"],
      ["d", "first"],
    ]);
    expect(snapshot.ambiguousNames).toEqual([]);
  });

  it("serves no model that stands in two repositories", async () => {
    const sources = [createMemoryRepository({ a: {}, b: {} }), createMemoryRepository({ a: {} })];
    const snapshot = await readRepositories(sources, signal);
    expect([...snapshot.models.keys()]).toEqual(["b"]);
    expect(snapshot.ambiguousNames).toEqual(["a"]);
    expect(() => requireModel(snapshot, "a")).toThrow(
      new InferenceError("INVALID_ARG", "model appears in two or more repositories"),
    );
  });

  it("keeps the rest when one repository cannot be read, and says so for the models that it does not find", async () => {
    const broken = createMemoryRepository({}, { id: "https://x/" });
    broken.failWith(new InferenceError("UNAVAILABLE", "offline"));
    const snapshot = await readRepositories([broken, createMemoryRepository({ a: {} })], signal);
    expect(requireModel(snapshot, "a").model.name).toBe("a");
    expect(() => requireModel(snapshot, "z")).toThrow(
      new InferenceError("UNAVAILABLE", "model repository 'https://x/' could not be read: offline"),
    );
  });

  it("says when a model is nowhere", async () => {
    const snapshot = await readRepositories([createMemoryRepository({ a: {} })], signal);
    expect(() => requireModel(snapshot, "z")).toThrow(
      new InferenceError("NOT_FOUND", "model 'z' is not in any model repository"),
    );
  });

  it("rejects after an abort", async () => {
    const aborted = new AbortController();
    aborted.abort(new Error("enough"));
    await expect(readRepositories([createMemoryRepository()], aborted.signal)).rejects.toThrow("enough");
  });
});

describe("modelFingerprint", () => {
  const file = { path: "1/m", size: 1, sha256: "a", chunks: ["a"] };
  const model: ManifestModel = {
    name: "m",
    directories: ["1", "2"],
    files: [file, { ...file, path: "2/m" }],
  };

  it("does not depend on the order of files and directories", () => {
    const turned = { ...model, directories: ["2", "1"], files: [...model.files].reverse() };
    expect(modelFingerprint(turned)).toBe(modelFingerprint(model));
  });

  it.each([
    ["content", { ...model, files: [file, { ...file, path: "2/m", sha256: "b" }] }],
    ["a file that is gone", { ...model, files: [file] }],
    ["a new directory", { ...model, directories: ["1", "2", "3"] }],
    [
      "contents that changed places",
      {
        ...model,
        files: [
          { ...file, path: "1/n" },
          { ...file, path: "2/m" },
        ],
      },
    ],
  ])("changes with %s", (_what, changed) => {
    expect(modelFingerprint(changed)).not.toBe(modelFingerprint(model));
  });
});
