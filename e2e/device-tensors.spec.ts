import type { InstanceReport } from "naiad";
import type { Origin, Page } from "./fixtures.ts";
import { expect, openPage, serveOrigin, test } from "./fixtures.ts";
import type { OwnRepository } from "./own-models.ts";
import { fixtureFile, ownRepository } from "./own-models.ts";
import { counts, inferJson, parsed, range } from "./requests.ts";

// Each page that uses the software adapter costs seconds.

/** Doubles and adds 1, in batches. */
const step = (kind: "CPU" | "GPU"): string => `
  backend: "onnxruntime"
  max_batch_size: 16
  input { name: "INPUT" data_type: TYPE_FP32 dims: 4 }
  output { name: "OUTPUT" data_type: TYPE_FP32 dims: 4 }
  dynamic_batching { max_queue_delay_microseconds: 5000 }
  instance_group { kind: KIND_${kind} count: 1 }`;

const chain = (...models: readonly string[]): string => `
  platform: "ensemble"
  max_batch_size: 16
  input { name: "INPUT" data_type: TYPE_FP32 dims: 4 }
  output { name: "OUTPUT" data_type: TYPE_FP32 dims: 4 }
  ensemble_scheduling {
    ${models
      .map((model, index) => {
        const from = index === 0 ? "INPUT" : `between_${String(index)}`;
        const to = index === models.length - 1 ? "OUTPUT" : `between_${String(index + 1)}`;
        return `step {
          model_name: "${model}" model_version: -1
          input_map { key: "INPUT" value: "${from}" }
          output_map { key: "OUTPUT" value: "${to}" }
        }`;
      })
      .join(" ")}
  }`;

let repository: OwnRepository;
let origin: Origin;

test.beforeAll(async () => {
  const model = await fixtureFile("batcher/1/model.onnx");
  repository = await ownRepository({
    "one/config.pbtxt": step("GPU"),
    "one/1/model.onnx": model,
    "two/config.pbtxt": step("GPU"),
    "two/1/model.onnx": model,
    "three/config.pbtxt": step("GPU"),
    "three/1/model.onnx": model,
    "cpu/config.pbtxt": step("CPU"),
    "cpu/1/model.onnx": model,
    "chain/config.pbtxt": chain("one", "two", "three"),
    "chain/1/.keep": "",
    "mixed/config.pbtxt": chain("one", "cpu", "two", "three"),
    "mixed/1/.keep": "",
  });
  origin = await serveOrigin({ models: repository.directory });
});

test.afterAll(async () => {
  await origin.close();
  await repository.remove();
});

async function ask(page: Page, ensemble: string, rows: readonly number[]): Promise<readonly number[]> {
  const data = rows.flatMap((row) => [row, 0, 0, 0]);
  const answer = await inferJson(page, ensemble, [
    { name: "INPUT", datatype: "FP32", shape: [rows.length, 4], data },
  ]);
  return (parsed(answer).outputs[0]?.data ?? []).map(Number);
}

const thrice = (row: number): readonly number[] => [8 * row + 7, 7, 7, 7];

/** By model. */
async function reports(page: Page): Promise<Readonly<Record<string, InstanceReport>>> {
  const instances = await page.evaluate(() => window.test.server.instances());
  return Object.fromEntries(instances.map((instance) => [instance.modelName, instance]));
}

async function readbacks(page: Page): Promise<Readonly<Record<string, number>>> {
  const models = Object.entries(await reports(page));
  return Object.fromEntries(models.map(([model, { readbacks: count = 0 }]) => [model, count]));
}

test("tensors stay on the GPU between the steps of an ensemble, for batches too, and come back from a crash of it", async ({
  browser,
  page,
  start,
}) => {
  await openPage(page, origin);
  await start(page, { allowSoftwareGpu: true, loadModels: ["chain"] });
  for (const instance of Object.values(await reports(page))) {
    expect(instance.device?.executionProvider).toBe("webgpu");
  }

  expect(await ask(page, "chain", [3])).toEqual(thrice(3));
  expect(await readbacks(page)).toEqual({ one: 0, two: 0, three: 1 });
  expect(await ask(page, "chain", [1, 2])).toEqual([...thrice(1), ...thrice(2)]);
  expect(await readbacks(page)).toEqual({ one: 0, two: 0, three: 2 });

  const answers = await Promise.all(range(8).map((row) => ask(page, "chain", [row])));
  expect(answers).toEqual(range(8).map(thrice));
  const { executions, inferences } = await counts(page, "three");
  expect(inferences).toBe(11);
  expect(executions).toBeLessThan(10);
  expect(await readbacks(page)).toEqual({ one: 0, two: 0, three: executions });
  for (const { deviceTensors } of Object.values(await reports(page))) expect(deviceTensors).toBeUndefined();

  const session = await browser.newBrowserCDPSession();
  await session.send("Browser.crashGpuProcess");
  expect(await ask(page, "chain", [4])).toEqual(thrice(4));
});

test("a model that is not on the GPU gets bytes", async ({ page, start }) => {
  await openPage(page, origin);
  await start(page, { allowSoftwareGpu: true, loadModels: ["mixed"] });
  expect(await ask(page, "mixed", [1])).toEqual([31, 15, 15, 15]);
  expect(await readbacks(page)).toEqual({ one: 1, cpu: 0, two: 0, three: 1 });
});
