import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { CHUNK_SIZE } from "../ports.ts";
import { parseManifest, printManifest } from "./manifest.ts";

const HASH = "0123456789abcdef".repeat(4);
const FILE = { path: "1/model.onnx", size: 10, sha256: HASH, chunks: [HASH] };
const MODEL = { name: "m", directories: ["1"], files: [FILE] };

function manifest(models: readonly unknown[], others: Readonly<Record<string, unknown>> = {}): unknown {
  return { naiad_manifest: 1, chunk_size: CHUNK_SIZE, models, ...others };
}

const withFile = (changes: object): unknown => manifest([{ ...MODEL, files: [{ ...FILE, ...changes }] }]);

describe("parseManifest", () => {
  it("reads what printManifest writes", () => {
    const repository = parseManifest(manifest([MODEL, { ...MODEL, name: "n", directories: ["1", "2"] }]));
    expect(parseManifest(JSON.parse(printManifest(repository)))).toEqual(repository);
    expect(repository.models.map(({ name }) => name)).toEqual(["m", "n"]);
  });

  it("adds the directories that the files tell of", () => {
    const model = { ...MODEL, directories: ["empty"], files: [FILE, { ...FILE, path: "config.pbtxt" }] };
    expect(parseManifest(manifest([model])).models[0]?.directories).toEqual(["empty", "1"]);
  });

  it("ignores keys that it does not know", () => {
    expect(parseManifest(manifest([{ ...MODEL, comment: 1 }], { generator: "x" })).models).toEqual([MODEL]);
  });

  it("takes a file of several chunks and an empty one", () => {
    const large = { ...FILE, size: CHUNK_SIZE + 1, chunks: [HASH, HASH] };
    const empty = { ...FILE, path: "labels.txt", size: 0, chunks: [] };
    const files = [large, empty];
    expect(parseManifest(manifest([{ ...MODEL, files }])).models[0]?.files).toEqual(files);
  });

  it.each([
    [null, "the document: must be an object, got null"],
    ["<!doctype html>", 'the document: must be an object, got "<!doctype html>"'],
    [{}, "naiad_manifest: is missing, so this is not a manifest"],
    [manifest([], { naiad_manifest: 2 }), "naiad_manifest: is 2, this server reads version 1"],
    [manifest([], { chunk_size: 1 }), `chunk_size: must be ${String(CHUNK_SIZE)}, got 1`],
    [manifest([], { models: {} }), "models: must be an array, got an object"],
    [manifest([1]), "models[0]: must be an object, got 1"],
    [manifest([MODEL, MODEL]), "models[1].name: 'm' appears more than once"],
    [
      manifest([{ ...MODEL, name: "a/b" }]),
      "models[0].name: 'a/b' must not contain a slash, backslash or NUL",
    ],
    [manifest([{ ...MODEL, name: ".." }]), "models[0].name: '..' is not a name"],
    [manifest([{ ...MODEL, name: "" }]), "models[0].name: a name must not be empty"],
    [manifest([{ ...MODEL, directories: ["1", 2] }]), "models[0].directories[1]: must be a string, got 2"],
    [
      manifest([{ ...MODEL, files: [FILE, FILE] }]),
      "models[0].files[1].path: '1/model.onnx' appears more than once",
    ],
    [
      withFile({ path: "/etc/passwd" }),
      "models[0].files[0].path: '/etc/passwd' must be relative to the model's directory",
    ],
    [withFile({ path: "1/../../x" }), "models[0].files[0].path: in '1/../../x', '..' is not a name"],
    [withFile({ path: "1//x" }), "models[0].files[0].path: in '1//x', a name must not be empty"],
    [
      withFile({ path: "1\\x" }),
      "models[0].files[0].path: '1\\x' must not contain a slash, backslash or NUL",
    ],
    [withFile({ path: undefined }), "models[0].files[0].path: must be a string, got nothing"],
    [withFile({ size: 1.5 }), "models[0].files[0].size: must be a number of bytes, got 1.5"],
    [withFile({ size: -1 }), "models[0].files[0].size: must be a number of bytes, got -1"],
    [
      withFile({ size: CHUNK_SIZE + 1 }),
      "models[0].files[0].chunks: has 1 entries where 4194305 bytes make 2",
    ],
    [
      withFile({ sha256: "x" }),
      "models[0].files[0].sha256: must be a SHA-256 in 64 lower-case hexadecimal digits",
    ],
    [
      withFile({ chunks: [HASH.toUpperCase()] }),
      "models[0].files[0].chunks[0]: must be a SHA-256 in 64 lower-case hexadecimal digits",
    ],
  ])("refuses %j", (value, message) => {
    expect(() => parseManifest(value)).toThrow(
      new InferenceError("INVALID_ARG", `model repository manifest: ${message}`),
    );
  });
});
