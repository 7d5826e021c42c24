import { expect, openPage, startOn } from "./fixtures.ts";
import { answerOf, CHUNK, CONTENT, isStored, MIB, test, warningsOf } from "./large-model.ts";

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
