import type { Page } from "./fixtures.ts";
import { expect, openPage, startOn } from "./fixtures.ts";
import { answerOf, BALLAST, CHUNK, CONTENT, isStored, MIB, test, warningsOf } from "./large-model.ts";
import type { Misbehaviour } from "./own-models.ts";
import { fixtureFile, sendPart, sha256 } from "./own-models.ts";
import type { Answer } from "./requests.ts";
import { errorOf, send } from "./requests.ts";

async function load(page: Page): Promise<Answer> {
  return await send(page, "POST", "/v2/repository/models/large/load");
}

/** `answerOf` in mode `direct`, where no fetch reaches the server. */
async function directAnswerOf(page: Page): Promise<number | undefined> {
  return await page.evaluate(async () => {
    const result = await window.test.server.client.infer({
      modelName: "large",
      inputs: { INPUT: { data: new Float32Array(4), shape: [1, 4] } },
    });
    return (result.outputs["OUTPUT"]?.data as Float32Array)[0];
  });
}

/** The ballast with a wrong byte in its second chunk. */
const corrupt: Misbehaviour = ({ path, range }, _request, response) => {
  if (path !== BALLAST) return false;
  const wrong = CONTENT.slice();
  wrong[CHUNK + 5] = ~(wrong[CHUNK + 5] ?? 0);
  void sendPart(response, wrong, { range }, wrong.byteLength).then(() => response.end());
  return true;
};

/** Misbehaves for the first request of the ballast only. */
function once(how: Misbehaviour): Misbehaviour {
  let isFirst = true;
  return (file, request, response) => {
    if (file.path !== BALLAST || !isFirst) return false;
    isFirst = false;
    return how(file, request, response);
  };
}

test("a page that is closed in the middle of a download leaves what it had: the next asks for the rest", async ({
  large,
  page,
}) => {
  // Sends one chunk and a half, and then nothing more.
  large.traffic.misbehave((file, _request, response) => {
    if (file.path !== BALLAST) return false;
    void sendPart(response, CONTENT, file, 6 * MIB);
    return true;
  });
  await openPage(page, large.origin);
  await page.evaluate(() => {
    void window.test.start({ loadModels: ["large"] });
  });
  await expect.poll(() => isStored(page, CONTENT.subarray(0, CHUNK))).toBe(true);
  large.traffic.misbehave();
  await openPage(page, large.origin);
  await startOn(page, { loadModels: ["large"] });
  expect(await answerOf(page)).toBe(100);
  expect(large.traffic.ranges(BALLAST)).toEqual([
    [0, CONTENT.byteLength],
    [CHUNK, CONTENT.byteLength],
  ]);

  // The third visit asks for no file at all.
  large.traffic.forget();
  await openPage(page, large.origin);
  await startOn(page, { loadModels: ["large"] });
  expect(await answerOf(page)).toBe(100);
  expect(large.traffic.paths()).toEqual([]);
});

test("a connection that breaks is taken up where it broke", async ({ large, page }) => {
  large.traffic.misbehave(
    once((file, _request, response) => {
      void sendPart(response, CONTENT, file, 5 * MIB).then(() => response.destroy());
      return true;
    }),
  );
  await openPage(page, large.origin);
  await startOn(page, { loadModels: ["large"] });
  expect(await answerOf(page)).toBe(100);
  const [first, second] = large.traffic.ranges(BALLAST);
  expect(first).toEqual([0, CONTENT.byteLength]);
  // The browser drops what it has not handed on yet.
  expect(second?.[0]).toBeGreaterThanOrEqual(CHUNK);
  expect(second?.[0]).toBeLessThanOrEqual(5 * MIB);
});

test("a corrupt chunk is asked for once more", async ({ large, page }) => {
  large.traffic.misbehave(once(corrupt));
  await openPage(page, large.origin);
  const warnings = warningsOf(page);
  await startOn(page, { loadModels: ["large"] });
  expect(await answerOf(page)).toBe(100);
  expect(large.traffic.ranges(BALLAST)).toEqual([
    [0, CONTENT.byteLength],
    [CHUNK, CONTENT.byteLength],
  ]);
  expect(warnings).toContainEqual(expect.stringMatching(/chunk 2 of 3 has SHA-256 .*; trying once more"$/));
});

test("a chunk that stays corrupt is never served; what was right of the file is kept", async ({
  large,
  page,
}) => {
  large.traffic.misbehave(corrupt);
  await openPage(page, large.origin);
  await startOn(page);
  const refused = await load(page);
  expect(refused.status).toBe(400);
  const second = CONTENT.subarray(CHUNK, 2 * CHUNK);
  expect(errorOf(refused)).toMatch(
    new RegExp(
      `file '1/ballast.bin' of model 'large'.* chunk 2 of 3 has SHA-256 \\w+ where the manifest says ${sha256(second)}`,
    ),
  );
  const index = JSON.parse((await send(page, "POST", "/v2/repository/index")).body) as unknown;
  expect(index).toContainEqual(
    expect.objectContaining({
      name: "large",
      state: "UNAVAILABLE",
      reason: expect.stringContaining("chunk 2 of 3"),
    }),
  );
  expect(await isStored(page, second)).toBe(false);

  large.traffic.misbehave();
  large.traffic.forget();
  expect(await load(page)).toMatchObject({ status: 200 });
  expect(large.traffic.ranges(BALLAST)).toEqual([[CHUNK, CONTENT.byteLength]]);
  expect(await answerOf(page)).toBe(100);
});

test("a start page in the place of a file is called that", async ({ large, page }) => {
  large.traffic.misbehave(({ path }, _request, response) => {
    if (path !== BALLAST) return false;
    response.writeHead(200, { "content-type": "text/html", "cross-origin-resource-policy": "same-origin" });
    response.end("<!doctype html><title>Welcome</title>");
    return true;
  });
  await openPage(page, large.origin);
  await startOn(page);
  const refused = await load(page);
  expect(refused.status).toBe(400);
  expect(errorOf(refused)).toMatch(/ballast.bin.*the server answered with an HTML page instead of the file/);
  expect(large.traffic.ranges(BALLAST)).toHaveLength(1);
});

test("a host without ranges sends the whole file; the rest of a broken download is cut out of it", async ({
  large,
  page,
}) => {
  const corruptOnce = once(corrupt);
  large.traffic.misbehave((file, request, response) => {
    if (corruptOnce(file, request, response)) return true;
    delete request.headers.range;
    return false;
  });
  await openPage(page, large.origin);
  await startOn(page, { loadModels: ["large"] });
  expect(await answerOf(page)).toBe(100);
  expect(large.traffic.ranges(BALLAST)).toHaveLength(2);
  expect(await isStored(page, CONTENT.subarray(2 * CHUNK))).toBe(true);
});

test("two pages with a server each load one model at the same time and download it once", async ({
  context,
  large,
  page,
}) => {
  let letGo = (): void => undefined;
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  large.traffic.misbehave((file, _request, response) => {
    if (file.path !== BALLAST) return false;
    void held.then(() => sendPart(response, CONTENT, file, CONTENT.byteLength)).then(() => response.end());
    return true;
  });
  const second = await context.newPage();
  const pages = [page, second];
  for (const each of pages) await openPage(each, large.origin);
  const started = Promise.all(pages.map((each) => startOn(each, { mode: "direct", loadModels: ["large"] })));
  // One downloads, the other waits for its lock.
  await expect
    .poll(async () =>
      page.evaluate(
        async (name) => {
          const { held = [], pending = [] } = await navigator.locks.query();
          const of = (locks: LockInfo[]) => locks.filter((lock) => lock.name === name).length;
          return [of(held), of(pending)];
        },
        `naiad:download:${sha256(CONTENT)}`,
      ),
    )
    .toEqual([1, 1]);
  letGo();
  await started;
  for (const each of pages) expect(await directAnswerOf(each)).toBe(100);
  expect([...large.traffic.paths()].sort()).toEqual([
    "large/1/ballast.bin",
    "large/1/model.onnx",
    "large/config.pbtxt",
  ]);
});

test("a model that changed on its host: a load serves the new files and downloads only what is new", async ({
  large,
  page,
}) => {
  await openPage(page, large.origin);
  await startOn(page, { loadModels: ["large"] });
  expect(await answerOf(page)).toBe(100);

  const changed = CONTENT.slice();
  changed[changed.byteLength - 1] = ~(changed[changed.byteLength - 1] ?? 0);
  await large.repository.write(BALLAST, changed);
  // Adds 200.
  await large.repository.write("large/1/model.onnx", await fixtureFile("versions/2/model.onnx"));
  large.traffic.forget();
  expect(await load(page)).toMatchObject({ status: 200 });
  expect(await answerOf(page)).toBe(200);
  expect([...large.traffic.paths()].sort()).toEqual(["large/1/ballast.bin", "large/1/model.onnx"]);
  expect(large.traffic.ranges(BALLAST)).toEqual([[2 * CHUNK, CONTENT.byteLength]]);
});
