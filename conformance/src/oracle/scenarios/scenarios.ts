import type { OracleRequest, Scenario } from "../oracle-request.ts";
import { BINARY } from "./binary-tensors.ts";
import { COMPRESSION } from "./compression.ts";
import { DATATYPES } from "./datatypes.ts";
import { GENERATE } from "./generate.ts";
import { JSON_FAULTS } from "./json-faults.ts";
import { CONTROL, FIXED_CONTROL } from "./model-control.ts";
import { OTHER_MODELS } from "./other-models.ts";
import { PATHS } from "./paths.ts";
import { LOGGING, TRACE } from "./settings.ts";
import { SHARED_MEMORY } from "./shared-memory.ts";
import { STATISTICS } from "./statistics.ts";
import { VALIDATION } from "./validation.ts";

const EVERY_MODEL = [
  ...["simple", "matrix", "batched", "reshaped", "labelled", "optional", "queued", "versions", "decoupled"],
  ...[
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "fp16",
    "fp32",
    "fp64",
    "string",
  ].map((type) => `identity_${type}`),
];

function scenario(name: string, requests: readonly OracleRequest[], more: Partial<Scenario> = {}): Scenario {
  return { name, control: "explicit", loadModels: EVERY_MODEL, requests, ...more };
}

/** Everything that is asked. Each scenario meets a fresh server. */
export const SCENARIOS: readonly Scenario[] = [
  scenario("paths", PATHS),
  scenario("json-faults", JSON_FAULTS),
  scenario("validation", VALIDATION),
  scenario("models", OTHER_MODELS),
  scenario("datatypes", DATATYPES),
  scenario("binary", BINARY),
  scenario("compression", COMPRESSION),
  scenario("control", CONTROL, { loadModels: ["simple"] }),
  scenario("logging", LOGGING, { loadModels: ["simple"] }),
  scenario("trace", TRACE, { loadModels: ["simple"] }),
  scenario("shared-memory", SHARED_MEMORY, { loadModels: ["simple"] }),
  scenario("statistics", STATISTICS, { loadModels: ["simple"] }),
  scenario("generate", GENERATE, { loadModels: ["identity_string", "identity_fp32"] }),
  scenario("fixed-control", FIXED_CONTROL, { control: "none", loadModels: ["simple"] }),
];
