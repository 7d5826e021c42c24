import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";

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
  readonly kind: "noautofill_platform" | "autofill_noplatform" | "autofill_noplatform_success" | "special_cases";
  /** The backend that the case is about: `onnx`, `ensemble`, `custom` ...; empty where it is about none. */
  readonly group: string;
  readonly modelName: string;
  /** Absent where the model directory has no configuration. */
  readonly config: string | undefined;
  /** Content of `1/model.onnx`, for the cases whose models are there. */
  readonly onnx: Uint8Array | undefined;
  readonly alternatives: readonly Alternative[];
}

export interface Alternative {
  readonly text: string;
  /** For the configuration with its platform replaced by `ensemble`. */
  readonly isForEnsemble: boolean;
}

const KINDS = ["noautofill_platform", "autofill_noplatform_success", "autofill_noplatform", "special_cases"] as const;
const PREFIX = "server__qa__L0_model_config__";

/** Reads `<folder>/model-configs` and, where it is there, the ONNX models of `<folder>/autocomplete`. */
export function readConfigCorpus(folder: string): ConfigCorpus {
  const corpus = join(folder, "model-configs");
  const read = (...path: readonly string[]): string => readFileSync(join(corpus, ...path), "utf8");
  const fileNames = readdirSync(join(corpus, "pbtxt")).sort();
  const present = new Set(fileNames);
  const cases = new Map<string, ConfigCase & { readonly alternatives: Alternative[] }>();
  const add = (kind: ConfigCase["kind"], path: string, alternative: Alternative): void => {
    const parts = path.split("__");
    const known = cases.get(`${kind}/${path}`);
    if (known !== undefined) {
      known.alternatives.push(alternative);
      return;
    }
    const modelName = parts.at(-1) ?? "";
    const group = parts.length > 1 ? (parts[0] ?? "") : "";
    const configFile = `${PREFIX}${kind}__${path}__config.pbtxt`;
    const directory = join(folder, "autocomplete", kind, group, modelName);
    cases.set(`${kind}/${path}`, {
      name: [kind, ...parts].join("/"),
      kind,
      group,
      modelName,
      config: present.has(configFile) ? read("pbtxt", configFile) : readIfThere(join(directory, "config.pbtxt"))?.toString(),
      onnx: readIfThere(join(directory, "1/model.onnx")),
      alternatives: [alternative],
    });
  };
  for (const file of readdirSync(join(corpus, "expected")).sort()) {
    const kind = KINDS.find((name) => file.startsWith(`${PREFIX}${name}__`));
    const [, path, suffix] = /^(.*)__expected(.*)$/.exec(file.slice(`${PREFIX}${kind ?? ""}__`.length)) ?? [];
    if (kind === undefined || path === undefined) throw new Error(`unknown kind of expectation: ${file}`);
    add(kind, path, { text: read("expected", file), isForEnsemble: suffix === "_ensemble" });
  }
  return {
    fileNames,
    text: (fileName) => read("pbtxt", fileName),
    golden: (fileName) => JSON.parse(read("golden", `${basename(fileName)}.json`)) as unknown,
    cases: [...cases.values()],
  };
}

function readIfThere(path: string): Buffer | undefined {
  return existsSync(path) ? readFileSync(path) : undefined;
}
