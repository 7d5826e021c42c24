import { describe, expect, it } from "vitest";
import { parseConfigText } from "./text.ts";
import { validateEnsemble } from "./validate-ensemble.ts";

const messages = (text: string): readonly string[] =>
  validateEnsemble(parseConfigText(`name: "e" ${text}`, { fileName: "c" })).map(({ message }) => message);
const tensors = (kind: "input" | "output", names: string): string =>
  names
    .split("")
    .map((name) => `${kind} { name: "${name}" }`)
    .join(" ");
const map = (field: string, names: string): string =>
  names
    .split("")
    .map((name, index) => `${field} { key: "T${index}" value: "${name}" }`)
    .join(" ");

/** `ensemble("a", "c", "a>b", "b>c")`: inputs, outputs, and one step for each arrow; tensors are single letters. */
function ensemble(inputs: string, outputs: string, ...steps: readonly string[]): string {
  const step = (arrow: string): string => {
    const [from = "", to = ""] = arrow.split(">");
    return `step { model_name: "x" ${map("input_map", from)} ${map("output_map", to)} }`;
  };
  return `platform: "ensemble" ${tensors("input", inputs)} ${tensors("output", outputs)}
    ensemble_scheduling { ${steps.map(step).join(" ")} }`;
}

describe("validateEnsemble", () => {
  it("accepts chains, diamonds and unmapped outputs", () => {
    expect(messages(ensemble("a", "c", "a>b", "b>c"))).toEqual([]);
    expect(messages(ensemble("a", "e", "a>bc", "b>d", "cd>e"))).toEqual([]);
    expect(messages(ensemble("a", "c", "b>c", "a>b"))).toEqual([]);
    expect(messages('platform: "onnxruntime_onnx"')).toEqual([]);
  });

  it.each([
    [
      "ensemble_scheduling {}",
      "ensemble scheduling cannot be set for model 'e' whose platform is not ensemble",
    ],
    ['platform: "ensemble"', "ensemble scheduling must be set for ensemble e whose platform is ensemble"],
    ['platform: "ensemble" ensemble_scheduling {}', "must specify 'step' for ensemble 'e'"],
    [
      `${ensemble("a", "b", "a>b")} instance_group {}`,
      "instance group should not be specified for ensemble 'e'",
    ],
    [`${ensemble("a", "b", "a>b")} optimization {}`, "optimization should not be specified for ensemble 'e'"],
    [`${ensemble("a", "b", "a>b")} model_warmup {}`, "model_warmup can not be specified for ensemble 'e'"],
    [ensemble("a", "b", "a>"), "must specify 'output_map' in step 0 of ensemble 'e'"],
    [ensemble("a", "b", "a>b", ">c"), "must specify 'input_map' in step 1 of ensemble 'e'"],
    [
      'platform: "ensemble" ensemble_scheduling { step { input_map { key: "x" } output_map { key: "y" } } }',
      "must specify 'model_name' in step 0 of ensemble 'e'",
    ],
    [
      ensemble("a", "b", "a>b", "a>b"),
      "ensemble tensor 'b' can appear in an output map only once for ensemble 'e' step 1",
    ],
    [ensemble("ax", "b", "a>b"), "ensemble input 'x' for ensemble e' is not used"],
    [ensemble("a", "by", "a>b"), "ensemble output 'y' for ensemble e' is not used"],
    [
      ensemble("a", "c", "az>b", "b>c"),
      "output 'c' for ensemble 'e' is not written: at least one of its depending tensors, 'z', is not connected",
    ],
    [ensemble("a", "ba", "a>b", "c>d"), "ensemble tensor 'd' is unused in ensemble 'e'"],
    [ensemble("a", "b", "a>bc"), "ensemble tensor 'c' is unused in ensemble 'e'"],
  ])("%s", (text, message) => {
    expect(messages(text)[0]).toBe(message);
  });

  it("ends on a cycle of tensors", () => {
    expect(messages(ensemble("a", "d", "ac>b", "b>c", "c>d"))[0]).toMatch(
      /^output 'd' for ensemble 'e' is not written: at least one of its depending tensors, '[bc]', is not connected$/,
    );
  });
});
