import type { Origin, Page } from "./fixtures.ts";
import { expect, openPage, serveOrigin, startOn, test as base } from "./fixtures.ts";
import type { OwnRepository } from "./own-models.ts";
import { fixtureFile, ownRepository } from "./own-models.ts";
import { inferJson, parsed, send } from "./requests.ts";

const CONFIG = `
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
dynamic_batching { }
instance_group [ { kind: KIND_CPU count: 1 } ]
`;
const CLIENTS = 8;

interface Changing {
  readonly repository: OwnRepository;
  readonly origin: Origin;
}

/** The model `adder` in a repository of the test's own; its version 1 adds 100 to what it is given. */
const test = base.extend<{ readonly changing: Changing }>({
  // Playwright reads the names of the fixtures needed from this pattern.
  changing: async ({}, use) => {
    const repository = await ownRepository({
      "adder/config.pbtxt": CONFIG,
      "adder/1/model.onnx": await fixtureFile("versions/1/model.onnx"),
    });
    const origin = await serveOrigin({ models: repository.directory });
    await use({ repository, origin });
    await origin.close();
    await repository.remove();
  },
});

/** `version:state` of every version of the model. */
async function states(page: Page): Promise<readonly string[]> {
  const { body } = await send(page, "POST", "/v2/repository/index");
  const entries = JSON.parse(body) as readonly { readonly version: string; readonly state: string }[];
  return entries.map(({ version, state }) => `${version}:${state}`);
}

/** What the model adds to zero. */
async function added(page: Page): Promise<unknown> {
  const inputs = [{ name: "INPUT", datatype: "FP32", shape: [1, 4], data: [0, 0, 0, 0] }];
  return parsed(await inferJson(page, "adder", inputs)).outputs[0]?.data[0];
}

/** Sends from so many clients at once, one request after the other, until the page's title is `stop`. */
async function sendUntilStopped(page: Page, clients: number): Promise<Readonly<Record<string, number>>> {
  return await page.evaluate(async (count) => {
    const answers: Record<string, number> = {};
    const inputs = [{ name: "INPUT", datatype: "FP32", shape: [1, 4], data: [0, 0, 0, 0] }];
    const client = async (): Promise<void> => {
      while (document.title !== "stop") {
        const response = await fetch("/v2/models/adder/infer", {
          method: "POST",
          body: JSON.stringify({ inputs }),
        });
        const text = await response.text();
        const answer = response.ok ? /"data":\[(\d+)/.exec(text)?.[1] : undefined;
        const key = answer ?? `${response.status} ${text}`;
        answers[key] = (answers[key] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: count }, client));
    return answers;
  }, clients);
}

test("a manifest that changes while eight clients send costs none of them a request", async ({
  changing: { repository, origin },
  page,
}) => {
  await openPage(page, origin);
  await startOn(page, { modelControlMode: "poll", repositoryPollSecs: 1 });
  const answers = sendUntilStopped(page, CLIENTS);
  expect(await states(page)).toEqual(["1:READY"]);

  await repository.write("adder/2/model.onnx", await fixtureFile("versions/2/model.onnx"));
  await expect.poll(() => states(page)).toEqual(["1:UNAVAILABLE", "2:READY"]);
  expect(await added(page)).toBe(200);

  // A deploy that goes wrong changes nothing.
  await repository.write("adder/config.pbtxt", "max_batch_size: many");
  await page.waitForTimeout(1500);
  expect(await states(page)).toEqual(["1:UNAVAILABLE", "2:READY"]);

  await repository.write("adder/config.pbtxt", `${CONFIG} version_policy { all {} }`);
  await expect.poll(() => states(page)).toEqual(["1:READY", "2:READY"]);
  await page.evaluate(() => (document.title = "stop"));
  const counted = await answers;
  expect(Object.keys(counted).sort()).toEqual(["100", "200"]);
});

test("a model that was loaded with files of its own is served by the next page too", async ({
  changing: { origin },
  context,
  page,
}) => {
  const loadModels = "adder";
  await openPage(page, origin);
  await startOn(page, { loadModels });
  expect(await added(page)).toBe(100);
  const upload = [...(await fixtureFile("versions/2/model.onnx"))];
  await page.evaluate(
    async ([config, bytes]) => {
      const files = { "7/model.onnx": Uint8Array.from(bytes) };
      await window.test.server.client.loadModel("adder", { config, files });
    },
    [
      JSON.stringify({
        backend: "onnxruntime",
        max_batch_size: 2,
        input: [{ name: "INPUT", data_type: "TYPE_FP32", dims: [4] }],
        output: [{ name: "OUTPUT", data_type: "TYPE_FP32", dims: [4] }],
        instance_group: [{ kind: "KIND_CPU", count: 1 }],
      }),
      upload,
    ] as const,
  );
  expect(await added(page)).toBe(200);

  const second = await context.newPage();
  await openPage(second, origin);
  await startOn(second, { loadModels });
  await page.close();
  await expect.poll(() => states(second), { timeout: 15_000 }).toContain("7:READY");
  expect(await added(second)).toBe(200);
  const { body } = await send(second, "GET", "/v2/models/adder/config");
  expect(JSON.parse(body)).toMatchObject({ max_batch_size: 2 });

  // A plain load goes back to the repository.
  await send(second, "POST", "/v2/repository/models/adder/load");
  expect(await added(second)).toBe(100);
});
