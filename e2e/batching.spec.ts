import { expect, test } from "./fixtures.ts";
import { counts } from "./requests.ts";

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
