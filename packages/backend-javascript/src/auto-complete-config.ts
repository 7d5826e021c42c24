import type { ModelConfig, ModelInput, ModelOutput } from "@naiad/model-config";
import { dataTypeName, parseConfigJson, printConfig } from "@naiad/model-config";
import type { JsonObject, JsonValue } from "@naiad/protocol";
import { stringifyJson } from "@naiad/protocol";
import { ModelError } from "./model/model-error.ts";
import type { AutoCompleteConfig } from "./model/model.ts";
import { typeName } from "./response-sender.ts";

export interface ConfigCompletion {
  /** For the model: it changes a copy of the configuration. */
  readonly helper: AutoCompleteConfig;
  /** INVALID_ARG for what the model added and no configuration can have. */
  readonly completed: () => ModelConfig;
}

/** Triton's object for a model's auto-complete function, with its texts for what contradicts the configuration. */
export function createAutoCompleteConfig(config: ModelConfig, modelName: string): ConfigCompletion {
  const where = `auto-complete-config function for model '${modelName}'`;
  const inputs: DescribedTensor[] = [];
  const outputs: DescribedTensor[] = [];
  const changes: Record<string, JsonValue> = {};
  let { maxBatchSize } = config;
  let decoupled = config.modelTransactionPolicy?.decoupled;

  const json = (): JsonObject => {
    const printed = printConfig(config);
    return {
      ...printed,
      ...changes,
      max_batch_size: maxBatchSize,
      input: [...listOf(printed["input"]), ...inputs.map(jsonOf)],
      output: [...listOf(printed["output"]), ...outputs.map(jsonOf)],
      ...(decoupled !== undefined && { model_transaction_policy: { decoupled } }),
    };
  };

  const helper: AutoCompleteConfig = {
    // Nothing of a configuration is beyond 2^53 but what nobody writes.
    asDict: () => JSON.parse(stringifyJson(json())) as Record<string, unknown>,
    setMaxBatchSize(size) {
      if (maxBatchSize > size) {
        throw invalid(
          `configuration specified max_batch_size ${maxBatchSize}, but in ${where} specified max_batch_size ${size}`,
        );
      }
      maxBatchSize = size;
    },
    setDynamicBatching() {
      const { schedulingChoice } = config;
      switch (schedulingChoice.case) {
        case "dynamicBatching":
          return;
        case undefined:
          changes["dynamic_batching"] = {};
          return;
        case "sequenceBatching":
        case "ensembleScheduling": {
          const name =
            schedulingChoice.case === "sequenceBatching" ? "sequence_batching" : "ensemble_scheduling";
          throw invalid(
            `Configuration specified scheduling_choice as '${name}', but ${where} tries to set scheduling_choice as ` +
              "'dynamic_batching'",
          );
        }
      }
    },
    addInput(input) {
      const described = readTensor(input, "input", where);
      const known = config.input.find(({ name }) => name === described.name);
      const added = inputs.find(({ name }) => name === described.name);
      if (known === undefined && added === undefined) inputs.push(described);
      if (known !== undefined) checkKnown(known, described, { noun: "input", modelName });
      if (added !== undefined) checkAdded(added, described, { noun: "input", modelName });
      if (known === undefined || described.optional === undefined || described.optional === known.optional)
        return;
      throw invalid(
        `model '${modelName}', tensor '${known.name}': the model expects optional ${described.optional} but the ` +
          `model configuration specifies optional ${known.optional}`,
      );
    },
    addOutput(output) {
      const described = readTensor(output, "output", where);
      const known = config.output.find(({ name }) => name === described.name);
      const added = outputs.find(({ name }) => name === described.name);
      if (known === undefined && added === undefined) outputs.push(described);
      if (known !== undefined) checkKnown(known, described, { noun: "output", modelName });
      if (added !== undefined) checkAdded(added, described, { noun: "output", modelName });
    },
    setModelTransactionPolicy(policy) {
      if (Object.keys(policy).some((key) => key !== "decoupled")) {
        throw invalid(`model transaction property in ${where} contains property other than 'decoupled'.`);
      }
      if (decoupled !== undefined && decoupled !== policy.decoupled) {
        throw invalid(
          `trying to change decoupled property in auto-complete-config for model '${modelName}', which is already ` +
            `set to '${decoupled}'.`,
        );
      }
      ({ decoupled } = policy);
    },
  };
  return {
    helper,
    completed: () =>
      parseConfigJson(stringifyJson(json()), { fileName: `autoCompleteConfig of model '${modelName}'` }),
  };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** A tensor in the words of a configuration. */
interface DescribedTensor {
  readonly name: string;
  readonly data_type: string;
  readonly dims: readonly number[];
  readonly optional?: boolean;
}

function jsonOf({ name, data_type, dims, optional }: DescribedTensor): JsonObject {
  return { name, data_type, dims, ...(optional !== undefined && { optional }) };
}

const PROPERTIES = {
  input: {
    names: ["name", "data_type", "dims", "optional"],
    text: "'name', 'data_type', 'dims' and 'optional'",
  },
  output: { names: ["name", "data_type", "dims"], text: "'name', 'data_type' and 'dims'" },
} as const;

function readTensor(given: object, noun: "input" | "output", where: string): DescribedTensor {
  const { name, data_type, dims, optional } = given as Readonly<Record<string, unknown>>;
  if (typeof name !== "string") throw invalid(`${noun} in ${where} is missing 'name' property.`);
  const what = `${noun} '${name}' in ${where}`;
  const names: readonly string[] = PROPERTIES[noun].names;
  if (Object.keys(given).some((key) => !names.includes(key))) {
    throw invalid(`${what} contains property other than ${PROPERTIES[noun].text}.`);
  }
  if (typeof data_type !== "string") throw invalid(`${what} is missing 'data_type' property.`);
  if (!Array.isArray(dims)) throw invalid(`${what} is missing 'dims' property.`);
  return {
    name,
    data_type,
    dims: dims.map((dim: unknown) => {
      if (typeof dim === "number" && Number.isSafeInteger(dim)) return dim;
      throw invalid(`${what} has a dim of type '${typeName(dim)}', which is no whole number.`);
    }),
    ...(optional !== undefined && { optional: optional === true }),
  };
}

interface TensorWords {
  readonly noun: "input" | "output";
  readonly modelName: string;
}

/** What stands in the configuration stays, where the model agrees with it. */
function checkKnown(known: ModelInput | ModelOutput, described: DescribedTensor, words: TensorWords): void {
  const { name, dataType, dims } = known;
  checkAdded({ name, data_type: dataTypeName(dataType), dims: dims.map(Number) }, described, words);
}

function checkAdded(
  known: DescribedTensor,
  { data_type, dims }: DescribedTensor,
  { noun, modelName }: TensorWords,
): void {
  if (known.data_type !== data_type) {
    throw invalid(
      `unable to load model '${modelName}', configuration expects datatype ${known.data_type} for ${noun} ` +
        `'${known.name}', model provides ${data_type}`,
    );
  }
  if (known.dims.length === dims.length && dims.every((dim, index) => dim === known.dims[index])) return;
  throw invalid(
    `model '${modelName}', tensor '${known.name}': the model expects dims [${dims.join(",")}] but the model ` +
      `configuration specifies dims [${known.dims.join(",")}]`,
  );
}

function invalid(message: string): ModelError {
  return new ModelError(message, "INVALID_ARG");
}
