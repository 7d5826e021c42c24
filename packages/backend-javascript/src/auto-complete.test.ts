import { parseConfigText, printConfig } from "@naiad/model-config";
import type { JsonObject } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { autoComplete } from "./auto-complete.ts";
import type { AutoCompleteConfig, ModelClass } from "./model/model.ts";

async function complete(
  config: string,
  change: (config: AutoCompleteConfig) => unknown,
): Promise<JsonObject> {
  const modelClass = class {
    static autoCompleteConfig(given: AutoCompleteConfig): unknown {
      const returned = change(given);
      return returned === undefined ? given : returned;
    }
    execute(): null {
      return null;
    }
  } as unknown as ModelClass;
  const parsed = parseConfigText(`name: "m" backend: "javascript" ${config}`, { fileName: "config.pbtxt" });
  const code = { modelClass, path: "1/model.js", pathOf: () => undefined };
  return printConfig(await autoComplete(parsed, "m", code));
}

const X = { name: "X", data_type: "TYPE_FP32", dims: [3, -1] };
const WITH_X = `max_batch_size: 2 input { name: "X" data_type: TYPE_FP32 dims: [ 3, -1 ] }
  output { name: "Y" data_type: TYPE_INT64 dims: [ 1 ] }`;

describe("a model's autoCompleteConfig", () => {
  it("adds what the configuration does not say", async () => {
    const completed = await complete("", (config) => {
      config.setMaxBatchSize(8);
      config.setDynamicBatching();
      config.addInput({ ...X, optional: true });
      config.addOutput({ name: "Y", data_type: "TYPE_INT64", dims: [1] });
      config.setModelTransactionPolicy({ decoupled: true });
      expect(config.asDict()).toMatchObject({ max_batch_size: 8, input: [X], dynamic_batching: {} });
    });
    expect(completed).toMatchObject({
      name: "m",
      max_batch_size: 8,
      input: [{ ...X, optional: true }],
      output: [{ name: "Y", data_type: "TYPE_INT64", dims: [1] }],
      dynamic_batching: {},
      model_transaction_policy: { decoupled: true },
    });
  });

  it("leaves alone what the configuration says alike", async () => {
    const completed = await complete(WITH_X, (config) => {
      config.addInput(X);
      config.addInput(X);
      config.setMaxBatchSize(4);
    });
    expect(completed).toMatchObject({ max_batch_size: 4, input: [X], output: [{ name: "Y" }] });
    expect(completed["input"]).toHaveLength(1);
  });

  it("is not asked of a model that has none", async () => {
    const parsed = parseConfigText('name: "m"', { fileName: "config.pbtxt" });
    const code = { modelClass: Object as unknown as ModelClass, path: "", pathOf: () => undefined };
    expect(await autoComplete(parsed, "m", code)).toBe(parsed);
  });

  it.each<[string, string, (config: AutoCompleteConfig) => unknown]>([
    [
      "configuration specified max_batch_size 2, but in auto-complete-config function for model 'm' specified max_batch_size 1",
      WITH_X,
      (config) => {
        config.setMaxBatchSize(1);
      },
    ],
    [
      "Configuration specified scheduling_choice as 'sequence_batching', but auto-complete-config function for model 'm' tries to set scheduling_choice as 'dynamic_batching'",
      "sequence_batching {}",
      (config) => {
        config.setDynamicBatching();
      },
    ],
    [
      "input 'X' in auto-complete-config function for model 'm' contains property other than 'name', 'data_type', 'dims' and 'optional'.",
      "",
      (config) => {
        config.addInput({ ...X, shape: [1] } as typeof X);
      },
    ],
    [
      "output 'X' in auto-complete-config function for model 'm' contains property other than 'name', 'data_type' and 'dims'.",
      "",
      (config) => {
        config.addOutput({ ...X, optional: true } as typeof X);
      },
    ],
    [
      "input in auto-complete-config function for model 'm' is missing 'name' property.",
      "",
      (config) => {
        config.addInput({ data_type: "TYPE_FP32", dims: [1] } as unknown as typeof X);
      },
    ],
    [
      "output 'X' in auto-complete-config function for model 'm' is missing 'dims' property.",
      "",
      (config) => {
        config.addOutput({ name: "X", data_type: "TYPE_FP32" } as unknown as typeof X);
      },
    ],
    [
      "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'X', model provides TYPE_INT8",
      WITH_X,
      (config) => {
        config.addInput({ ...X, data_type: "TYPE_INT8" });
      },
    ],
    [
      "model 'm', tensor 'Y': the model expects dims [2] but the model configuration specifies dims [1]",
      WITH_X,
      (config) => {
        config.addOutput({ name: "Y", data_type: "TYPE_INT64", dims: [2] });
      },
    ],
    [
      "model 'm', tensor 'X': the model expects optional true but the model configuration specifies optional false",
      WITH_X,
      (config) => {
        config.addInput({ ...X, optional: true });
      },
    ],
    [
      "model transaction property in auto-complete-config function for model 'm' contains property other than 'decoupled'.",
      "",
      (config) => {
        config.setModelTransactionPolicy({ decoupled: true, more: 1 } as { decoupled: boolean });
      },
    ],
    [
      "trying to change decoupled property in auto-complete-config for model 'm', which is already set to 'false'.",
      "model_transaction_policy { decoupled: false }",
      (config) => {
        config.setModelTransactionPolicy({ decoupled: true });
      },
    ],
    ["autoCompleteConfig function in model 'm' must return a valid ModelConfig object.", "", () => null],
    [
      "failed to read JSON from autoCompleteConfig of model 'm'",
      "",
      (config) => {
        config.addInput({ ...X, data_type: "FLOAT" });
      },
    ],
  ])("fails the load: %s", async (text, config, change) => {
    await expect(complete(config, change)).rejects.toThrow(text);
  });
});
