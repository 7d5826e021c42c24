import type { ModelConfig } from "@naiad/model-config";
import { ACCELERATORS, badChoices } from "./execution-accelerators.ts";
import { GRAPH_LEVELS } from "./session-options.ts";

/** Parameters that mean something here, to the backend or to the server. */
const KNOWN: ReadonlySet<string> = new Set([
  "enable_mem_arena",
  "enable_mem_pattern",
  "execution_mode",
  "intra_op_thread_count",
  "isolate_worker",
  "verify",
  "watchdog_create_ms",
  "watchdog_first_run_ms",
  "watchdog_run_ms",
]);
/** Entries of ONNX Runtime's session configuration, passed on by the same names. */
const KNOWN_PREFIXES: readonly string[] = ["session.", "optimization.", "ep.webgpuexecutionprovider."];

/** What a configuration asks of this backend in vain, and what is used in its place: one line each, for the log. */
export function configWarnings(config: ModelConfig): readonly string[] {
  const warnings = [
    ...acceleratorWarnings(config, "gpu"),
    ...acceleratorWarnings(config, "cpu"),
    ...badChoices(config),
    ...graphLevelWarnings(config),
  ];
  const unknown = Object.keys(config.parameters).filter((key) => !isKnown(key));
  if (unknown.length > 0) warnings.push(`${list(unknown)} without effect here`);
  if (config.optimization?.cuda !== undefined) warnings.push("optimization.cuda has no effect in a browser");
  return warnings.map((warning) => `model '${config.name}': ${warning}`);
}

function isKnown(key: string): boolean {
  if (KNOWN.has(key) || KNOWN_PREFIXES.some((prefix) => key.startsWith(prefix))) return true;
  return Object.entries(ACCELERATORS.gpu).some(
    ([name, keys]) => key.startsWith(`${name}.`) && keys.includes(key.slice(name.length + 1)),
  );
}

function acceleratorWarnings({ optimization }: ModelConfig, kind: "gpu" | "cpu"): readonly string[] {
  const accelerators = optimization?.executionAccelerators;
  const named =
    (kind === "gpu" ? accelerators?.gpuExecutionAccelerator : accelerators?.cpuExecutionAccelerator) ?? [];
  return named.flatMap(({ name, parameters }) => {
    const subject = `the ${kind} execution accelerator '${name}'`;
    const known = Object.hasOwn(ACCELERATORS[kind], name) ? ACCELERATORS[kind][name] : undefined;
    if (known === undefined) {
      const choices = Object.keys(ACCELERATORS[kind]).join(" and ");
      return [`${subject} is not to be had in a browser, where there is ${choices}`];
    }
    const unknown = Object.keys(parameters).filter((key) => !known.includes(key));
    return unknown.length === 0 ? [] : [`${list(unknown, ` of ${subject}`)} without effect here`];
  });
}

function graphLevelWarnings({ optimization }: ModelConfig): readonly string[] {
  const level = optimization?.graph?.level ?? 0;
  if (GRAPH_LEVELS.has(level)) return [];
  const levels = [...GRAPH_LEVELS.keys()].join(", ");
  return [`optimization.graph.level is ${level}, which is none of ${levels}: 0 is used, all optimizations`];
}

/** `parameter 'a' is`, `parameters 'a' and 'b' of the thing are`. */
function list(names: readonly string[], owner = ""): string {
  const quoted = names.map((name) => `'${name}'`);
  const [last] = quoted.slice(-1);
  return quoted.length === 1
    ? `parameter ${quoted.join("")}${owner} is`
    : `parameters ${quoted.slice(0, -1).join(", ")} and ${last ?? ""}${owner} are`;
}
