import { InferenceError } from "@naiad/protocol";
import type { ManifestModel, ModelFile, RepositoryManifest } from "../ports.ts";
import { CHUNK_SIZE } from "../ports.ts";
import { pathProblem, segmentProblem } from "./model-path.ts";

/**
 * The JSON form of a manifest, `index.json` of a model repository:
 * `{"naiad_manifest":1,"chunk_size":4194304,"models":[{"name","directories","files":[{"path","size","sha256","chunks"}]}]}`.
 * Keys that this version does not know are ignored, so that later versions may add some.
 */
const MANIFEST_VERSION = 1;
const SHA256 = /^[0-9a-f]{64}$/;

/**
 * The manifest that a JSON value (already parsed, from anywhere) describes. Throws INVALID_ARG and names the place:
 * `model repository manifest: models[0].files[2].path: ...`.
 */
export function parseManifest(value: unknown): RepositoryManifest {
  const root = asObject(value, "the document");
  const version = root["naiad_manifest"];
  if (version === undefined) fail("naiad_manifest", "is missing, so this is not a manifest");
  if (version !== MANIFEST_VERSION) {
    fail("naiad_manifest", `is ${describe(version)}, this server reads version ${String(MANIFEST_VERSION)}`);
  }
  if (root["chunk_size"] !== CHUNK_SIZE) {
    fail("chunk_size", `must be ${String(CHUNK_SIZE)}, got ${describe(root["chunk_size"])}`);
  }
  const models = asArray(root["models"], "models").map((model, i) =>
    parseModel(model, `models[${String(i)}]`),
  );
  refuseRepeats(
    models.map((model) => model.name),
    (i) => `models[${String(i)}].name`,
  );
  return { models };
}

export function printManifest(manifest: RepositoryManifest): string {
  return JSON.stringify({
    naiad_manifest: MANIFEST_VERSION,
    chunk_size: CHUNK_SIZE,
    models: manifest.models.map(({ name, directories, files }) => ({
      name,
      directories,
      files: files.map(({ path, size, sha256, chunks }) => ({ path, size, sha256, chunks })),
    })),
  });
}

function parseModel(value: unknown, at: string): ManifestModel {
  const model = asObject(value, at);
  const name = asSegment(model["name"], `${at}.name`);
  const files = asArray(model["files"], `${at}.files`).map((file, i) =>
    parseModelFile(file, `${at}.files[${String(i)}]`),
  );
  refuseRepeats(
    files.map((file) => file.path),
    (i) => `${at}.files[${String(i)}].path`,
  );
  const listed = asArray(model["directories"], `${at}.directories`).map((directory, i) =>
    asSegment(directory, `${at}.directories[${String(i)}]`),
  );
  return { name, directories: withImplied(listed, files), files };
}

/** A hand-written manifest may leave out a directory that its files already tell of. */
function withImplied(listed: readonly string[], files: readonly ModelFile[]): readonly string[] {
  const implied = files.flatMap(({ path }) => (path.includes("/") ? [path.slice(0, path.indexOf("/"))] : []));
  return [...new Set([...listed, ...implied])];
}

/** One entry of a model's `files`, at a place that stands in messages. */
export function parseModelFile(value: unknown, at: string): ModelFile {
  const file = asObject(value, at);
  const path = asPath(file["path"], `${at}.path`);
  const size = file["size"];
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0) {
    fail(`${at}.size`, `must be a number of bytes, got ${describe(size)}`);
  }
  const chunks = asArray(file["chunks"], `${at}.chunks`).map((chunk, i) =>
    asSha256(chunk, `${at}.chunks[${String(i)}]`),
  );
  const expected = Math.ceil(size / CHUNK_SIZE);
  if (chunks.length !== expected) {
    fail(
      `${at}.chunks`,
      `has ${String(chunks.length)} entries where ${String(size)} bytes make ${String(expected)}`,
    );
  }
  return { path, size, sha256: asSha256(file["sha256"], `${at}.sha256`), chunks };
}

function asObject(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return fail(at, `must be an object, got ${describe(value)}`);
  }
  return Object.fromEntries(Object.entries(value));
}

function asArray(value: unknown, at: string): readonly unknown[] {
  if (!Array.isArray(value)) return fail(at, `must be an array, got ${describe(value)}`);
  const items: readonly unknown[] = value;
  return items;
}

function asString(value: unknown, at: string): string {
  return typeof value === "string" ? value : fail(at, `must be a string, got ${describe(value)}`);
}

function asSha256(value: unknown, at: string): string {
  const text = asString(value, at);
  return SHA256.test(text) ? text : fail(at, "must be a SHA-256 in 64 lower-case hexadecimal digits");
}

function asSegment(value: unknown, at: string): string {
  const text = asString(value, at);
  const problem = segmentProblem(text);
  return problem === undefined ? text : fail(at, problem);
}

function asPath(value: unknown, at: string): string {
  const text = asString(value, at);
  const problem = pathProblem(text);
  return problem === undefined ? text : fail(at, problem);
}

function refuseRepeats(names: readonly string[], at: (index: number) => string): void {
  const seen = new Set<string>();
  names.forEach((name, i) => {
    if (seen.has(name)) fail(at(i), `'${name}' appears more than once`);
    seen.add(name);
  });
}

function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return JSON.stringify(value);
}

function fail(at: string, problem: string): never {
  throw new InferenceError("INVALID_ARG", `model repository manifest: ${at}: ${problem}`);
}
