import { expect, openPage, startOn } from "./fixtures.ts";
import { answerOf, BALLAST, CHUNK, CONTENT, isStored, MIB, test, warningsOf } from "./large-model.ts";
import { send } from "./requests.ts";

test("a page brings the manifest that its host does not have", async ({ large, page }) => {
  const manifest = await (await fetch(`${large.origin.url}models/index.json`)).text();
  large.traffic.misbehave(({ path }, _request, response) => {
    if (path !== "index.json") return false;
    response.writeHead(404, { "cross-origin-resource-policy": "same-origin" }).end();
    return true;
  });
  await openPage(page, large.origin);
  await startOn(page, { modelRepository: { url: "/models/", manifest }, loadModels: ["large"] });
  expect(await answerOf(page)).toBe(100);
});

test("content that no model needs any more is removed, and only that", async ({ large, page }) => {
  await openPage(page, large.origin);
  await startOn(page, { loadModels: ["large"] });
  const [kept, gone] = [CONTENT.subarray(0, CHUNK), CONTENT.subarray(CHUNK, 2 * CHUNK)];
  expect([await isStored(page, kept), await isStored(page, gone)]).toEqual([true, true]);

  await large.repository.write(BALLAST, CONTENT.subarray(0, 5 * MIB));
  expect(await send(page, "POST", "/v2/repository/models/large/load")).toMatchObject({ status: 200 });
  await expect.poll(() => isStored(page, gone)).toBe(false);
  expect(await isStored(page, kept)).toBe(true);
  expect(await answerOf(page)).toBe(100);
});

test("content that another page serves stays although this page's repository does not have it", async ({
  context,
  large,
}) => {
  const [theirs, ours] = [await context.newPage(), await context.newPage()];
  await openPage(theirs, large.origin);
  await startOn(theirs, { loadModels: ["large"], mode: "direct" });
  const content = CONTENT.subarray(CHUNK, 2 * CHUNK);
  await large.repository.write(BALLAST, CONTENT.subarray(0, 5 * MIB));
  await openPage(ours, large.origin);
  await startOn(ours, { loadModels: ["large"], mode: "direct" });
  // Longer than the server waits before it looks through the storage.
  await ours.waitForTimeout(2_000);
  expect(await isStored(ours, content)).toBe(true);

  await theirs.close();
  await ours.evaluate(() => window.test.server.client.unloadModel("large"));
  await expect.poll(() => isStored(ours, content)).toBe(false);
});

test("a page that asks for persistent storage has the answer in its log", async ({ large, page }) => {
  await openPage(page, large.origin);
  const lines: string[] = [];
  page.on("console", (message) => lines.push(message.text()));
  await startOn(page, { persistStorage: true });
  await expect
    .poll(() => lines)
    .toContainEqual(expect.stringMatching(/stored models (are kept|may be removed by the browser)/));
});

test("a browser without IndexedDB keeps models in memory and says so", async ({ large, page }) => {
  await openPage(page, large.origin);
  const warnings = warningsOf(page);
  await startOn(page, { loadModels: ["large"], assets: "/no-storage/" });
  expect(await answerOf(page)).toBe(100);
  expect(warnings).toContainEqual(
    expect.stringMatching(/models are kept in memory only: .*denied by the user/),
  );
  expect(await isStored(page, CONTENT.subarray(0, CHUNK))).toBe(false);
});

test("a model that does not fit into the site's quota is served from memory", async ({ large, page }) => {
  const session = await page.context().newCDPSession(page);
  await session.send("Storage.overrideQuotaForOrigin", {
    origin: new URL(large.origin.url).origin,
    quotaSize: 6 * MIB,
  });
  await openPage(page, large.origin);
  const warnings = warningsOf(page);
  await startOn(page, { loadModels: ["large"] });
  expect(await answerOf(page)).toBe(100);
  expect(warnings).toContainEqual(
    expect.stringMatching(
      /model 'large' runs from memory, not from storage: .* quota for this site is used up/,
    ),
  );
});
