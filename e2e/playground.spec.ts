import { fileURLToPath } from "node:url";
import type { PreviewServer } from "vite";
import { build, preview } from "vite";
import { syntheticVoice, writeWave } from "../packages/testing/src/audio/index.ts";
import { tinyStory } from "../packages/testing/src/fixture-models/tiny-decoder-reference.ts";
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

test("hears the voice in a sound file", async ({ page }) => {
  await page.setViewportSize({ width: 1360, height: 1000 });
  await open(page, "silero_vad");
  await load(page, "silero_vad");
  const samples = syntheticVoice(0, 6 * 16_000);
  await page.getByLabel("Sound file").setInputFiles({
    name: "voice.wav",
    mimeType: "audio/wav",
    buffer: Buffer.from(writeWave({ sampleRate: 16_000, samples })),
  });
  await expect(page.getByTestId("speech")).toHaveText(/^speech in [45]\.\d of 6\.0 s$/, { timeout: 60_000 });
  await expect(page.getByRole("region", { name: "Statistics" })).toContainText(
    "187 inferences in 187 executions",
  );
  await page.screenshot({ path: `${SHOTS}/voice-detection.png`, fullPage: true });
});

test("names what is on a picture, step by step", async ({ page }) => {
  await page.setViewportSize({ width: 1360, height: 1000 });
  await open(page, "image_classification");
  await load(page, "image_classification");
  await page.getByRole("button", { name: "Cup" }).click();
  await expect(page.getByTestId("class").locator("output")).toHaveText("espresso", { timeout: 60_000 });
  await page.getByRole("button", { name: "12 at once" }).click();
  await expect(page.getByRole("list", { name: "Steps" })).toContainText(/12 in \d executions/, {
    timeout: 60_000,
  });
  await page.screenshot({ path: `${SHOTS}/image-classification.png`, fullPage: true });
});

test("reads a page of text, line by line", async ({ page }) => {
  await page.setViewportSize({ width: 1360, height: 1000 });
  await open(page, "text_reading");
  await load(page, "text_reading");
  await page.getByRole("button", { name: "Sample page" }).click();
  await expect(page.getByTestId("lines").locator("output").first()).toHaveText("Hello Triton 2026", {
    timeout: 60_000,
  });
  await expect(page.getByTestId("lines").locator("output")).toHaveCount(5);
  await page.screenshot({ path: `${SHOTS}/text-reading.png`, fullPage: true });
});

test("makes embeddings of a sound file, with the voice detector beside them", async ({ page }) => {
  await page.setViewportSize({ width: 1360, height: 1000 });
  await open(page, "sound_features");
  await load(page, "sound_features");
  const samples = syntheticVoice(0, 6 * 16_000);
  await page.getByLabel("Sound file").setInputFiles({
    name: "voice.wav",
    mimeType: "audio/wav",
    buffer: Buffer.from(writeWave({ sampleRate: 16_000, samples })),
  });
  await expect(page.getByTestId("heard")).toHaveText(/^speech in [45]\.\d of 6\.0 s, 49 windows$/, {
    timeout: 60_000,
  });
  await expect(page.getByRole("list", { name: "Steps" })).toContainText(/187 in \d+ executions/, {
    timeout: 60_000,
  });
  await page.screenshot({ path: `${SHOTS}/sound-features.png`, fullPage: true });
});

test("shows the batcher at work", async ({ page }) => {
  await open(page, "batcher");
  await load(page, "batcher");
  await page.getByRole("button", { name: "64 at once" }).click();
  await expect(page.getByText(/64 inferences in \d+ executions/)).toBeVisible({ timeout: 30_000 });
  await page.screenshot({ path: `${SHOTS}/batching.png`, fullPage: true });
});

test("tells what the browser can do", async ({ page }) => {
  await page.goto(url);
  await page.getByText("What this browser can do").click();
  await expect(page.getByText("isolation: cross-origin isolated")).toBeVisible({ timeout: 20_000 });
  await expect(page.getByText(/^timer: steps of/)).toBeVisible();
});

test("writes two stories at once", async ({ page }) => {
  await page.setViewportSize({ width: 1360, height: 1000 });
  await open(page, "tiny_lm");
  await load(page, "tiny_lm");
  await page.getByRole("button", { name: "Two at once" }).click();
  await page.getByRole("button", { name: "Write" }).click();
  const [first, second] = [page.getByTestId("story").first(), page.getByTestId("story").last()];
  await expect(first).toContainText(tinyStory("Once upon a time", 40), { timeout: 60_000 });
  await expect(second).toContainText(tinyStory("The cat", 40));
  await expect(page.getByTestId("story-speed")).toHaveText([/^160 tokens, /, /^160 tokens, /], {
    timeout: 60_000,
  });
  await expect(page.getByRole("list", { name: "Steps" })).toContainText(/each, \d+ in \d+ executions/);
  await page.screenshot({ path: `${SHOTS}/story-writing.png`, fullPage: true });
});

// The last one: it closes the server.
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
