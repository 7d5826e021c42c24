import type { ModelVersionStatistics } from "naiad";
import type { Page } from "./fixtures.ts";
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

const CLIENTS = 64;
const REQUESTS_PER_CLIENT = 4;

/** The page is 64 clients, each of which sends its next request when its last was answered. Wrong answers, if any. */
async function playClients(page: Page): Promise<readonly string[]> {
  return await page.evaluate(
    async ([clients, requests]) => {
      const wrong: string[] = [];
      const client = async (number: number): Promise<void> => {
        for (let turn = 0; turn < requests; turn += 1) {
          const data = Float32Array.of(number, turn, number * turn, -number);
          const { outputs } = await window.test.server.client.infer({
            modelName: "batcher",
            inputs: { INPUT: { data, shape: [1, 4] } },
          });
          const answer = [...(outputs["OUTPUT"]?.data as Float32Array)].join();
          if (answer !== [...data].map((value) => 2 * value + 1).join()) {
            wrong.push(`client ${number}, request ${turn}: ${answer}`);
          }
        }
      };
      await Promise.all(Array.from({ length: clients }, (_, number) => client(number)));
      return wrong;
    },
    [CLIENTS, REQUESTS_PER_CLIENT] as const,
  );
}

async function statistics(page: Page): Promise<ModelVersionStatistics> {
  const {
    model_stats: [first],
  } = await page.evaluate(() => window.test.server.client.modelStatistics("batcher"));
  if (first === undefined) throw new Error("no statistics");
  return first;
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

test("64 clients of one instance share executions with batching, and run one by one without", async ({
  blank,
  start,
}) => {
  const all = CLIENTS * REQUESTS_PER_CLIENT;
  await start(blank, { loadModels: ["batcher"] });
  expect(await playClients(blank)).toEqual([]);
  const batched = await statistics(blank);
  expect(batched.inference_stats).toMatchObject({ success: { count: all }, fail: { count: 0 } });
  expect(batched.inference_count).toBe(all);
  expect(batched.execution_count).toBeLessThanOrEqual(all / 4);
  const { batch_stats, batch_limits = {} } = batched;
  expect(sum(batch_stats.map((size) => size.batch_size * size.compute_infer.count))).toBe(all);
  expect(Math.max(...batch_stats.map((size) => size.batch_size))).toBeLessThanOrEqual(16);
  expect(sum(Object.values(batch_limits))).toBe(batched.execution_count);

  await blank.evaluate(async () => {
    const { client } = window.test.server;
    const config = { ...(await client.modelConfig("batcher")), dynamic_batching: undefined };
    await client.loadModel("batcher", { config: JSON.stringify(config) });
  });
  expect(await playClients(blank)).toEqual([]);
  const alone = await statistics(blank);
  expect(alone).toMatchObject({ inference_count: all, execution_count: all });
  expect(alone.batch_stats).toMatchObject([{ batch_size: 1, compute_infer: { count: all } }]);
  expect(alone.batch_limits).toMatchObject({ not_batching: all, instance_busy: 0, full: 0 });
});
