import { fromBinary } from "@bufbuild/protobuf";
import { ModelProtoSchema } from "onnx-buf";

/**
 * `count` of the cases: one for each operator in turn, until there are enough, in the order given. The operator of a case
 * is that of its graph's first node.
 */
export function sampleByOperator<Case extends { readonly model: Uint8Array }>(
  cases: readonly Case[],
  count: number,
): readonly Case[] {
  const byOperator = new Map<string, Case[]>();
  for (const one of cases) {
    const operator = operatorOf(one.model);
    byOperator.set(operator, [...(byOperator.get(operator) ?? []), one]);
  }
  const sample: Case[] = [];
  for (let round = 0; sample.length < Math.min(count, cases.length); round += 1) {
    for (const group of byOperator.values()) {
      const one = group[round];
      if (one !== undefined && sample.length < count) sample.push(one);
    }
  }
  return sample;
}

export function operatorOf(model: Uint8Array): string {
  return fromBinary(ModelProtoSchema, model).graph?.node[0]?.opType ?? "";
}
