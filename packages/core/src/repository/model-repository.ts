import { InferenceError } from "@naiad/protocol";
import type { ManifestModel, ModelFile, RepositorySource } from "../ports.ts";

/** A model as one repository holds it. */
export interface RepositoryModel {
  readonly model: ManifestModel;
  readonly source: RepositorySource;
}

/** What all repositories hold at one moment. */
export interface RepositorySnapshot {
  /** Models by name in the order of their names, without those of `ambiguousNames`. */
  readonly models: ReadonlyMap<string, RepositoryModel>;
  /** Names that stand in two or more repositories: Triton serves neither. */
  readonly ambiguousNames: readonly string[];
  /** All that the manifests name, of every model. */
  readonly files: readonly ModelFile[];
  /** Repositories whose manifest could not be read. Their models are unknown, not gone. */
  readonly failures: readonly SourceFailure[];
}

export interface SourceFailure {
  readonly sourceId: string;
  readonly error: InferenceError;
}

export const AMBIGUOUS_REASON = "model appears in two or more repositories";

/** Reads every manifest at once. Rejects only when `signal` fires; an unreadable repository is listed in `failures`. */
export async function readRepositories(
  sources: readonly RepositorySource[],
  signal: AbortSignal,
): Promise<RepositorySnapshot> {
  const results = await Promise.allSettled(sources.map((source) => source.manifest(signal)));
  signal.throwIfAborted();
  const found = new Map<string, RepositoryModel[]>();
  const failures: SourceFailure[] = [];
  sources.forEach((source, i) => {
    const result = results[i];
    if (result === undefined) return;
    if (result.status === "rejected") {
      failures.push({ sourceId: source.id, error: InferenceError.from(result.reason) });
      return;
    }
    for (const model of result.value.models) {
      const holders = found.get(model.name);
      if (holders === undefined) found.set(model.name, [{ model, source }]);
      else holders.push({ model, source });
    }
  });
  const models = new Map<string, RepositoryModel>();
  const ambiguousNames: string[] = [];
  for (const name of [...found.keys()].sort()) {
    const [holder, ...others] = found.get(name) ?? [];
    if (holder === undefined) continue;
    if (others.length > 0) ambiguousNames.push(name);
    else models.set(name, holder);
  }
  const files = [...found.values()].flatMap((holders) => holders.flatMap(({ model }) => model.files));
  return { models, ambiguousNames, files, failures };
}

/** The model of that name; throws the reason why there is none to serve. */
export function requireModel(snapshot: RepositorySnapshot, modelName: string): RepositoryModel {
  const found = snapshot.models.get(modelName);
  if (found !== undefined) return found;
  if (snapshot.ambiguousNames.includes(modelName)) throw new InferenceError("INVALID_ARG", AMBIGUOUS_REASON);
  const [failure] = snapshot.failures;
  if (failure === undefined) {
    throw notInRepository(modelName);
  }
  throw new InferenceError(
    failure.error.code,
    `model repository '${failure.sourceId}' could not be read: ${failure.error.message}`,
    { cause: failure.error },
  );
}

export function notInRepository(modelName: string): InferenceError {
  return new InferenceError("NOT_FOUND", `model '${modelName}' is not in any model repository`);
}

/**
 * Changes exactly when a file's content, the set of files or the set of directories does. Triton looks at times of
 * change instead; a manifest has hashes.
 */
export function modelFingerprint({ directories, files }: ManifestModel): string {
  const lines = [
    ...directories.map((name) => `${name}/`),
    ...files.map(({ path, sha256 }) => `${path} ${sha256}`),
  ];
  return lines.sort().join("\n");
}
