import { joinedPath } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import type { Digest, ModelFile, ModelFiles } from "../../ports.ts";
import { CHUNK_SIZE } from "../../ports.ts";
import { createMd5 } from "./md5.ts";
import type { RepositoryAgent } from "./repository-agent.ts";

type Algorithm = "md5" | "sha256";

/**
 * Triton's checksum agent: each parameter is `<algorithm>:<file in the model's directory>` with the file's digest in
 * lower-case hexadecimal. Triton has MD5 alone.
 */
export const checksumAgent: RepositoryAgent = async (parameters, { material, digest, signal }) => {
  for (const [key, expected] of Object.entries(parameters)) {
    const { algorithm, name, path } = parseKey(key);
    const normalized = joinedPath(path);
    const file = material.model.files.find((candidate) => candidate.path === normalized);
    if (file === undefined) {
      throw new InferenceError(
        "INVALID_ARG",
        `failed to open text file for read ${path}: No such file or directory`,
      );
    }
    const files = await material.fetch([file.path], signal);
    const actual = await fileDigest(file, files, { algorithm, digest, signal });
    if (actual === expected) continue;
    throw new InferenceError(
      "INVALID_ARG",
      `Mismatched ${name} hash for file ${path}, expect: ${expected}, got: ${actual}`,
    );
  }
};

interface ChecksumKey {
  readonly algorithm: Algorithm;
  /** As it stands in messages. */
  readonly name: string;
  readonly path: string;
}

function parseKey(key: string): ChecksumKey {
  const colon = key.indexOf(":");
  if (colon < 0) throw new InferenceError("INVALID_ARG", `failed to parse key: ${key}`);
  const name = key.slice(0, colon);
  const path = key.slice(colon + 1);
  switch (name.toLowerCase()) {
    case "md5":
      return { algorithm: "md5", name: "MD5", path };
    case "sha256":
    case "sha-256":
      return { algorithm: "sha256", name: "SHA256", path };
    default:
      throw new InferenceError("UNSUPPORTED", `Unsupported checksum algorithm: ${name}`);
  }
}

interface FileDigestOptions {
  readonly algorithm: Algorithm;
  readonly digest: Digest;
  readonly signal: AbortSignal;
}

async function fileDigest(
  { path, size }: ModelFile,
  files: ModelFiles,
  { algorithm, digest, signal }: FileDigestOptions,
): Promise<string> {
  if (algorithm === "sha256") return digest.sha256(await files.read(path));
  const md5 = createMd5();
  for (let start = 0; start < size; start += CHUNK_SIZE) {
    signal.throwIfAborted();
    md5.update(await files.read(path, { start, end: Math.min(start + CHUNK_SIZE, size) }));
  }
  return md5.hex();
}
