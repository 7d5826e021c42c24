import type { Origin, Page } from "./fixtures.ts";
import { serveOrigin, test as base } from "./fixtures.ts";
import { alteredHost, NO_STORAGE } from "./altered-host.ts";
import type { OwnRepository, Traffic } from "./own-models.ts";
import { ballast, fixtureFile, ownRepository, sha256, watchTraffic } from "./own-models.ts";
import { inferJson, parsed } from "./requests.ts";

export const MIB: number = 1024 ** 2;
export const CHUNK: number = 4 * MIB;
/** A file of the model's version that is only there to be downloaded. */
export const BALLAST = "large/1/ballast.bin";
/** Three chunks: 4, 4 and 2 MiB. */
export const CONTENT: Uint8Array = ballast(10 * MIB);

const CONFIG = `
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 4 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
`;

/** The model `large` on an origin of its own: it adds 100 to what it is given. */
export interface LargeModel {
  readonly repository: OwnRepository;
  readonly traffic: Traffic;
  /** Below /no-storage/ it has a host that is denied IndexedDB. */
  readonly origin: Origin;
}

export const test = base.extend<{ readonly large: LargeModel }>({
  // Playwright reads the names of the fixtures needed from this pattern.
  large: async ({}, use) => {
    const repository = await ownRepository({
      "large/config.pbtxt": CONFIG,
      "large/1/model.onnx": await fixtureFile("versions/1/model.onnx"),
      [BALLAST]: CONTENT,
    });
    const traffic = watchTraffic();
    const noStorage = alteredHost("/no-storage/", NO_STORAGE);
    const origin = await serveOrigin({
      models: repository.directory,
      intercept: (request, response, next) =>
        noStorage(request, response, () => traffic.intercept(request, response, next)),
    });
    await use({ repository, traffic, origin });
    await origin.close();
    await repository.remove();
  },
});

/** The first number of the answer: what the model adds to zero. */
export async function answerOf(page: Page): Promise<unknown> {
  const inputs = [{ name: "INPUT", datatype: "FP32", shape: [1, 4], data: [0, 0, 0, 0] }];
  return parsed(await inferJson(page, "large", inputs)).outputs[0]?.data[0];
}

/** What the server warns of on the console of the page, from now on. */
export function warningsOf(page: Page): readonly string[] {
  const warnings: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "warning") warnings.push(message.text());
  });
  return warnings;
}

/** Whether a chunk lies in the page's storage. */
export async function isStored(page: Page, chunk: Uint8Array): Promise<boolean> {
  return await page.evaluate(async (key) => {
    const name = "naiad:/-chunks";
    // Opening it would make it.
    if (!(await indexedDB.databases()).some((database) => database.name === name)) return false;
    const database = await new Promise<IDBDatabase>((resolve, reject) => {
      const opening = indexedDB.open(name);
      opening.onsuccess = () => resolve(opening.result);
      opening.onerror = () => reject(opening.error ?? new Error("cannot open"));
    });
    try {
      const asking = database.transaction("keyval").objectStore("keyval").count(key);
      return await new Promise<boolean>((resolve, reject) => {
        asking.onsuccess = () => resolve(asking.result > 0);
        asking.onerror = () => reject(asking.error ?? new Error("cannot count"));
      });
    } finally {
      database.close();
    }
  }, sha256(chunk));
}
