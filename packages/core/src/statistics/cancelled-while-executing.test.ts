import { createServerBench, echoModel } from "@naiad/testing";
import { expect, it } from "vitest";

it("counts a request that is cancelled while it executes as failed, and its row in the batch that ran", async () => {
  const bench = createServerBench({
    models: { m: echoModel([1], "dynamic_batching { max_queue_delay_microseconds: 1000 }") },
    backend: { latencyNs: 10e6 },
  });
  await bench.start();
  await bench.load("m");
  const leaving = new AbortController();
  const answered = bench.infer("m", 1);
  const left = bench.infer("m", 2, { signal: leaving.signal });
  const refused = expect(left).rejects.toMatchObject({ code: "CANCELLED" });
  await bench.clock.advance(2e6);
  leaving.abort();
  await refused;
  await bench.clock.advance(10e6);
  await answered;

  const { model_stats: models } = await bench.server.modelStatistics(
    { modelName: "m", modelVersion: "" },
    { signal: new AbortController().signal },
  );
  expect(models).toMatchObject([
    {
      inference_count: 1,
      execution_count: 1,
      inference_stats: { success: { count: 1 }, fail: { count: 1 }, compute_infer: { count: 1 } },
      batch_stats: [{ batch_size: 2, compute_infer: { count: 1 } }],
    },
  ]);
});
