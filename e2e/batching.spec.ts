import { expect, test } from "./fixtures.ts";
import { counts, inferJson, parsed, range } from "./requests.ts";

test("64 requests at once share executions, and each gets its own answer", async ({ blank, start }) => {
  await start(blank, { loadModels: ["batcher"] });
  const before = await counts(blank, "batcher");
  const answers = await blank.evaluate(async () => {
    const { client } = window.test.server;
    const request = async (index: number): Promise<number[]> => {
      const data = Float32Array.from([index, index + 0.25, -index, 0]);
      const result = await client.infer({ modelName: "batcher", inputs: { INPUT: { data, shape: [1, 4] } } });
      return [...(result.outputs["OUTPUT"]?.data as Float32Array)];
    };
    return await Promise.all(Array.from({ length: 64 }, (_, index) => request(index)));
  });
  answers.forEach((answer, index) =>
    expect(answer).toEqual([2 * index + 1, 2 * index + 1.5, -2 * index + 1, 1]),
  );
  const after = await counts(blank, "batcher");
  expect(after.inferences - before.inferences).toBe(64);
  expect(after.executions - before.executions).toBeLessThanOrEqual(12);
});

test("requests of different lengths share executions of a ragged model, and each gets its own answer", async ({
  blank,
  start,
}) => {
  await start(blank, { loadModels: ["ragged_sum"] });
  const before = await counts(blank, "ragged_sum");
  const lengths = range(24).map((index) => index % 7);
  const answers = await Promise.all(
    lengths.map((length) =>
      inferJson(blank, "ragged_sum", [
        { name: "ITEMS", datatype: "FP32", shape: [1, length], data: range(length, 1) },
      ]),
    ),
  );
  answers.forEach((answer, index) => {
    const length = lengths[index] ?? 0;
    const outputs = parsed(answer).outputs;
    expect(outputs.find(({ name }) => name === "SUM")?.data).toEqual([(length * (length + 1)) / 2]);
    const copy = outputs.find(({ name }) => name === "COPY");
    expect(copy?.shape).toEqual([1, length]);
    expect(copy?.data).toEqual(range(length, 1));
  });
  const after = await counts(blank, "ragged_sum");
  expect(after.inferences - before.inferences).toBe(24);
  expect(after.executions - before.executions).toBeLessThan(24);
});
