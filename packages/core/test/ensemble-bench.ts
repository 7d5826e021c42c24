import type { MemoryModel, ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench, ECHO_CONFIG, echoModel, ensembleModel } from "@naiad/testing";

/** Models one after another, each `name` or `name@version`; the tensors are those of an echo model. */
export function chain(models: readonly string[], config = ""): MemoryModel {
  const tensors = ["x", ...models.slice(1).map((_, index) => `t${String(index)}`), "y"];
  return ensembleModel({
    inputs: "x INT32 [1]",
    outputs: "y INT32 [1]",
    steps: models.map((name, index) => `${name}: x=${tensors[index] ?? ""} > y=${tensors[index + 1] ?? ""}`),
    maxBatchSize: 4,
    config,
  });
}

export async function startBench(
  models: Readonly<Record<string, MemoryModel>>,
  options: ServerBenchOptions = {},
): Promise<ServerBench> {
  const bench = createServerBench({ models, ...options });
  await bench.start();
  return bench;
}

export const TWO = { a: echoModel(), b: echoModel(), e: chain(["a", "b"]) };

/** Takes batches of 2 only. */
export const SMALL: MemoryModel = {
  ...echoModel(),
  "config.pbtxt": ECHO_CONFIG.replace("max_batch_size: 4", "max_batch_size: 2"),
};

export const errors = ({ logger }: ServerBench): readonly string[] =>
  logger.lines.filter(({ level }) => level === "error").map(({ message }) => message);
