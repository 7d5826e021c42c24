import { expect, test } from "./fixtures.ts";
import type { InferAnswer } from "./requests.ts";
import { counts, inferJson, parsed, send, SIMPLE_INPUTS } from "./requests.ts";

test("an equal request is answered from the cache, to every road and with the id it brings", async ({
  blank,
  start,
}) => {
  await start(blank, { cacheConfig: "local,size=1048576" });
  await blank.evaluate(async () => {
    const config = JSON.stringify({ max_batch_size: 8, response_cache: { enable: true } });
    await window.test.server.client.loadModel("simple", { config });
  });

  const first = parsed(await inferJson(blank, "simple", SIMPLE_INPUTS));
  const body = JSON.stringify({ id: "again", inputs: SIMPLE_INPUTS });
  const again = parsed(await send(blank, "POST", "/v2/models/simple/infer", body));
  expect(again).toEqual({ ...first, id: "again" } satisfies InferAnswer & { id: string });

  // Over the port, twice: what is transferred to the page is not what the cache keeps.
  for (let count = 0; count < 2; count += 1) {
    const sums = await blank.evaluate(async () => {
      const data = Int32Array.from({ length: 16 }, (_, index) => index);
      const result = await window.test.server.client.infer({
        modelName: "simple",
        inputs: {
          INPUT0: { data, shape: [1, 16] },
          INPUT1: { data: new Int32Array(16).fill(1), shape: [1, 16] },
        },
      });
      return [...(result.outputs["OUTPUT0"]?.data as Int32Array)];
    });
    expect(sums).toEqual(first.outputs.find(({ name }) => name === "OUTPUT0")?.data);
  }
  expect(await counts(blank, "simple")).toEqual({ inferences: 1, executions: 1 });

  const { body: text } = await send(blank, "GET", "/v2/models/simple/stats");
  expect(JSON.parse(text)).toMatchObject({
    model_stats: [
      { inference_stats: { success: { count: 4 }, cache_hit: { count: 3 }, cache_miss: { count: 1 } } },
    ],
  });
});
