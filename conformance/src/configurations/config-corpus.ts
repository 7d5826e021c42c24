import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Triton's configurations, what protobuf reads in them (`golden`), and what Triton says to them (`expected`). */
export interface ConfigCorpus {
  /** File names of all configurations. */
  readonly fileNames: readonly string[];
  text(fileName: string): string;
  golden(fileName: string): unknown;
  /** The cases of Triton's L0_model_config. */
  readonly cases: readonly ConfigCase[];
}

/** A model directory of L0_model_config and the answers that Triton's test accepts. */
export interface ConfigCase {
  /** `<kind>/<group>/<model>`. */
  readonly name: string;
  readonly kind:
    "noautofill_platform" | "autofill_noplatform" | "autofill_noplatform_success" | "special_cases";
  /** The backend that the case is about: `onnx`, `ensemble`, `custom` ...; empty where it is about none. */
  readonly group: string;
  readonly modelName: string;
  /** Absent where the model directory has no configuration. */
  readonly config: string | undefined;
  /** Configurations of the models beside it, which an ensemble is made of, by name. */
  readonly companions: ReadonlyMap<string, string>;
  /** Content of `1/model.onnx`, for the cases whose models are there. */
  readonly onnx: Uint8Array | undefined;
  /** Whether `model-configs/expected` holds what is expected; else it lies beside the model. */
  readonly isListed: boolean;
  readonly alternatives: readonly Alternative[];
}

export interface Alternative {
  readonly text: string;
  /** For the configuration with its platform replaced by `ensemble`. */
  readonly isForEnsemble: boolean;
}

const KINDS = [
  "noautofill_platform",
  "autofill_noplatform_success",
  "autofill_noplatform",
  "special_cases",
] as const;
const PREFIX = "server__qa__L0_model_config__";

/** Reads `<folder>/model-configs` and, where it is there, `<folder>/autocomplete` with models for some of its cases. */
export function readConfigCorpus(folder: string): ConfigCorpus {
  const corpus = join(folder, "model-configs");
  const read = (...path: readonly string[]): string => readFileSync(join(corpus, ...path), "utf8");
  const fileNames = readdirSync(join(corpus, "pbtxt")).sort();
  const listed = listedExpectations(join(corpus, "expected"));
  const known = new Set(listed.map(({ path }) => path));
  const more = expectationsBesideModels(join(folder, "autocomplete")).filter(({ path }) => !known.has(path));
  const cases = new Map<string, ConfigCase & { readonly alternatives: Alternative[] }>();
  for (const { kind, path, alternative } of [...listed, ...more]) {
    const present = cases.get(path);
    if (present !== undefined) {
      present.alternatives.push(alternative);
      continue;
    }
    const parts = path.split("/").slice(1);
    const directory = join(folder, "autocomplete", path);
    const configFile = `${PREFIX}${path.replaceAll("/", "__")}__config.pbtxt`;
    cases.set(path, {
      name: path,
      kind,
      group: parts.length > 1 ? (parts[0] ?? "") : "",
      modelName: parts.at(-1) ?? "",
      config: fileNames.includes(configFile)
        ? read("pbtxt", configFile)
        : readIfThere(join(directory, "config.pbtxt"))?.toString(),
      companions: new Map(
        companionFiles(path, fileNames).map(({ modelName, fileName }) => [
          modelName,
          read("pbtxt", fileName),
        ]),
      ),
      onnx: readIfThere(join(directory, "1/model.onnx")),
      isListed: known.has(path),
      alternatives: [alternative],
    });
  }
  return {
    fileNames,
    text: (fileName) => read("pbtxt", fileName),
    golden: (fileName) => JSON.parse(read("golden", `${fileName}.json`)) as unknown,
    cases: [...cases.values()],
  };
}

/** Only cases with a model repository of their own, `<kind>/<group>/<case>/<model>`, have models beside them. */
function companionFiles(
  path: string,
  fileNames: readonly string[],
): readonly { readonly modelName: string; readonly fileName: string }[] {
  if (path.split("/").length < 4) return [];
  const prefix = `${PREFIX}${dirname(path).replaceAll("/", "__")}__`;
  return fileNames
    .filter((fileName) => fileName.startsWith(prefix))
    .map((fileName) => ({ modelName: fileName.slice(prefix.length, -"__config.pbtxt".length), fileName }))
    .filter(({ modelName }) => modelName !== basename(path));
}

interface Expectation {
  readonly kind: ConfigCase["kind"];
  /** `<kind>/<group>/<model>`, without a group where there is none. */
  readonly path: string;
  readonly alternative: Alternative;
}

/** File names are paths in Triton's repository, with `__` for `/`. */
function listedExpectations(folder: string): readonly Expectation[] {
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const [, name = "", suffix] = /^(.*)__expected(.*)$/.exec(file.slice(PREFIX.length)) ?? [];
      const path = name.replaceAll("__", "/");
      const text = readFileSync(join(folder, file), "utf8");
      return { kind: kindOf(path), path, alternative: { text, isForEnsemble: suffix === "_ensemble" } };
    });
}

function expectationsBesideModels(folder: string): readonly Expectation[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => basename(file).startsWith("expected"))
    .sort()
    .map((file) => {
      const path = dirname(file).replaceAll("\\", "/");
      const text = readFileSync(join(folder, file), "utf8");
      return { kind: kindOf(path), path, alternative: { text, isForEnsemble: false } };
    });
}

function kindOf(path: string): ConfigCase["kind"] {
  const kind = KINDS.find((name) => path.startsWith(`${name}/`));
  if (kind === undefined) throw new Error(`unknown kind of expectation: ${path}`);
  return kind;
}

function readIfThere(path: string): Buffer | undefined {
  return existsSync(path) ? readFileSync(path) : undefined;
}
