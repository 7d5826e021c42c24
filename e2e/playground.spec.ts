import { fileURLToPath } from "node:url";
import type { PreviewServer } from "vite";
import { build, preview } from "vite";
import type { Page } from "./fixtures.ts";
import { expect, test } from "./fixtures.ts";

const CONFIG = fileURLToPath(new URL("../vite.config.ts", import.meta.url));
const SHOTS = fileURLToPath(new URL("../test-results/screenshots", import.meta.url));

test.describe.configure({ mode: "serial" });
test.setTimeout(180_000);

let server: PreviewServer;
let url = "";

test.beforeAll(async () => {
  await build({ configFile: CONFIG, logLevel: "warn" });
  server = await preview({ configFile: CONFIG, logLevel: "error", preview: { port: 0, host: "127.0.0.1" } });
  const address = server.httpServer.address();
  if (address === null || typeof address === "string") throw new Error("the preview server has no port");
  url = `http://127.0.0.1:${address.port}/`;
});

test.afterAll(async () => {
  await server.close();
});

async function open(page: Page, model: string): Promise<void> {
  await page.goto(`${url}#${model}`);
  await expect(page.getByTestId("server-state")).toHaveText("server ready", { timeout: 60_000 });
}

async function load(page: Page, model: string): Promise<void> {
  await page
    .getByRole("button", { name: `Load ${model}` })
    .first()
    .click();
  await expect(page.getByRole("button", { name: `Unload ${model}`, exact: true })).toBeVisible({
    timeout: 60_000,
  });
}

test("reads 'Hello Triton 2026' exactly", async ({ page }) => {
  await page.setViewportSize({ width: 1360, height: 1000 });
  await open(page, "ocr_recognizer");
  await load(page, "ocr_recognizer");
  await page.getByRole("button", { name: "Read it" }).click();
  await expect(page.getByTestId("reading").locator("output")).toHaveText("Hello Triton 2026", {
    timeout: 60_000,
  });
  await expect(page.getByRole("region", { name: "Statistics" })).toContainText("compute");
  await page.screenshot({ path: `${SHOTS}/text-recognition.png`, fullPage: true });
});

test("finds the faces of a real photo", async ({ page }) => {
  await page.setViewportSize({ width: 1360, height: 1000 });
  await open(page, "blazeface_back");
  await load(page, "blazeface_back");
  await page.getByRole("button", { name: "Sample photo" }).click();
  await expect(page.getByTestId("face-count")).toHaveText("3 faces", { timeout: 60_000 });
  await page.screenshot({ path: `${SHOTS}/face-detection.png`, fullPage: true });
});

test("shows the batcher at work", async ({ page }) => {
  await open(page, "batcher");
  await load(page, "batcher");
  await page.getByRole("button", { name: "64 at once" }).click();
  await expect(page.getByText(/64 inferences in \d+ executions/)).toBeVisible({ timeout: 30_000 });
  await page.screenshot({ path: `${SHOTS}/batching.png`, fullPage: true });
});

test("a second visit needs no server: shell, engine and models are here", async ({ context }) => {
  const first = await context.newPage();
  await open(first, "ocr_recognizer");
  await load(first, "ocr_recognizer");
  await first.getByRole("button", { name: "Read it" }).click();
  await expect(first.getByTestId("reading").locator("output")).toHaveText("Hello Triton 2026", {
    timeout: 60_000,
  });
  await first.close();

  await server.close();
  const second = await context.newPage();
  await open(second, "ocr_recognizer");
  await load(second, "ocr_recognizer");
  await second.getByRole("button", { name: "Read it" }).click();
  await expect(second.getByTestId("reading").locator("output")).toHaveText("Hello Triton 2026", {
    timeout: 60_000,
  });
});
