import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { syntheticVoice } from "../packages/testing/src/audio/synthetic-voice.ts";
import { inferBytes, output, uint8 } from "./binary-requests.ts";
import type { Page } from "./fixtures.ts";
import { expect, openPage, serveOrigin, startOn, test } from "./fixtures.ts";
import { fixtureFile, ownRepository } from "./own-models.ts";
import type { Answer } from "./requests.ts";
import { counts, errorOf, range, send } from "./requests.ts";
import { FRAME, runVadAlone } from "./vad-reference.ts";

const PHOTOS = new URL("../apps/playground/src/photos/", import.meta.url);
const photo = (name: string): Promise<Uint8Array> => readFile(fileURLToPath(new URL(name, PHOTOS)));

async function load(page: Page, model: string): Promise<Answer> {
  return await send(page, "POST", `/v2/repository/models/${model}/load`);
}

test.describe("image_classification", () => {
  const classify = (page: Page, file: Uint8Array): Promise<Answer> =>
    inferBytes(page, "image_classification", uint8("IMAGE", [1, file.length], file));

  test("names what is on a picture, from the bytes of a JPEG, PNG or WebP file", async ({ blank, start }) => {
    await start(blank, { loadModels: ["image_classification"] });
    const coffee = await photo("coffee.jpg");
    const answer = await classify(blank, coffee);
    expect(output(answer, "CLASS")).toMatchObject({ datatype: "BYTES", shape: [1, 1], data: ["espresso"] });
    expect(output(answer, "SCORE").data[0]).toBeGreaterThan(0.7);

    for (const type of ["image/png", "image/webp"]) {
      const file = await encodedAs(blank, coffee, type);
      expect(output(await classify(blank, file), "CLASS").data).toEqual(["espresso"]);
    }
    const cat = await classify(blank, await photo("cat.jpg"));
    expect(output(cat, "CLASS").data[0]).toMatch(/\b(cat|tabby)\b/);
  });

  test("classifies pictures of several requests at once, and gives each its own name", async ({
    blank,
    start,
  }) => {
    await start(blank, { loadModels: ["image_classification"] });
    const files = await Promise.all(["coffee.jpg", "cat.jpg"].map(photo));
    const answers = await Promise.all(
      range(12).map((index) => classify(blank, files[index % 2] ?? new Uint8Array())),
    );
    answers.forEach((answer, index) =>
      expect(output(answer, "CLASS").data[0]).toMatch(index % 2 === 0 ? /espresso/ : /\b(cat|tabby)\b/),
    );
    expect(await counts(blank, "image_classification")).toMatchObject({ inferences: 12 });
    const classifier = await counts(blank, "efficientnet_lite0");
    expect(classifier.inferences).toBe(12);
    expect(classifier.executions).toBeLessThanOrEqual(8);
  });

  test("says which step refused a file that is no picture, and goes on", async ({ blank, start }) => {
    await start(blank, { loadModels: ["image_classification"] });
    const answer = await classify(blank, new TextEncoder().encode("no picture"));
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toBe(
      "in ensemble 'image_classification', the 10 bytes of the image are no JPEG, PNG or WebP file that this browser can read",
    );
    expect(output(await classify(blank, await photo("coffee.jpg")), "CLASS").data).toEqual(["espresso"]);
  });
});

/** The picture of a file, encoded by the page as another type. */
async function encodedAs(page: Page, file: Uint8Array, type: string): Promise<Uint8Array> {
  const encoded = await page.evaluate(
    async ([content, wanted]) => {
      const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
      const picture = await createImageBitmap(new Blob([bytes]));
      const canvas = new OffscreenCanvas(picture.width, picture.height);
      canvas.getContext("2d")?.drawImage(picture, 0, 0);
      const blob = await canvas.convertToBlob({ type: wanted, quality: 0.9 });
      if (blob.type !== wanted) throw new Error(`the browser writes ${blob.type} for ${wanted}`);
      return Array.from(new Uint8Array(await blob.arrayBuffer()));
    },
    [Buffer.from(file).toString("base64"), type] as const,
  );
  return Uint8Array.from(encoded);
}

test.describe("the pipeline that many people start from", () => {
  const PREPROCESS = `
name: "preprocess" backend: "javascript" max_batch_size: 8
input [ { name: "INPUT" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]`;
  const CLASSIFIER = (name: string): string => `
name: "${name}" platform: "onnxruntime_onnx" max_batch_size: 8
input [ { name: "image" data_type: TYPE_FP32 dims: [ 3, 224, 224 ] } ]
output [ { name: "probabilities" data_type: TYPE_FP32 dims: [ 1000 ] } ]
instance_group [ { kind: KIND_CPU } ]
dynamic_batching { }`;
  const POSTPROCESS = `
name: "postprocess" backend: "javascript" max_batch_size: 8
input [ { name: "INPUT" data_type: TYPE_FP32 dims: [ 1000 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_STRING dims: [ 1 ] } ]`;
  const ENSEMBLE = `
name: "ensemble_classification" platform: "ensemble" max_batch_size: 8
input [ { name: "INPUT" data_type: TYPE_UINT8 dims: [ -1 ] } ]
output [ { name: "OUTPUT" data_type: TYPE_STRING dims: [ 1 ] } ]
ensemble_scheduling { step [
  { model_name: "preprocess" model_version: -1
    input_map { key: "INPUT" value: "INPUT" } output_map { key: "OUTPUT" value: "preprocess_out" } },
  { model_name: "resnet50_infer" model_version: -1
    input_map { key: "image" value: "preprocess_out" } output_map { key: "probabilities" value: "infer_out" } },
  { model_name: "postprocess" model_version: -1
    input_map { key: "INPUT" value: "infer_out" } output_map { key: "OUTPUT" value: "OUTPUT" } }
] }`;

  /** The sample's models under the names of tensors that this repository has. */
  const renamed = async (path: string, names: Readonly<Record<string, string>>): Promise<string> =>
    Object.entries(names).reduce(
      (code, [from, to]) => code.replaceAll(`"${from}"`, `"${to}"`),
      new TextDecoder().decode(await fixtureFile(path)),
    );

  test("has each of its faults named, and gives the class once they are mended", async ({ page }) => {
    const repository = await ownRepository({
      "preprocess/config.pbtxt": PREPROCESS,
      "preprocess/1/model.js": await renamed("image_pixels/1/model.js", { IMAGE: "INPUT", PIXELS: "OUTPUT" }),
      "preprocess/1/answer-each.js": await fixtureFile("image_pixels/1/answer-each.js"),
      "preprocess/1/decode-image.js": await fixtureFile("image_pixels/1/decode-image.js"),
      // Copied from another model together with its name.
      "resnet50_infer/config.pbtxt": CLASSIFIER("resnet50"),
      "resnet50_infer/1/model.onnx": await fixtureFile("efficientnet_lite0/1/model.onnx"),
      "postprocess/config.pbtxt": POSTPROCESS,
      "postprocess/1/model.js": await renamed("image_label/1/model.js", {
        PROBABILITIES: "INPUT",
        CLASS: "OUTPUT",
      }),
      "postprocess/1/answer-each.js": await fixtureFile("image_label/1/answer-each.js"),
      "postprocess/labels.txt": await fixtureFile("image_label/labels.txt"),
      // The directory has another name, and no version in it.
      "ensemble_model/config.pbtxt": ENSEMBLE,
    });
    const origin = await serveOrigin({ models: repository.directory });
    await openPage(page, origin);
    await startOn(page);

    const classifier = await load(page, "resnet50_infer");
    expect(errorOf(classifier)).toContain(
      "unexpected directory name 'resnet50_infer' for model 'resnet50', directory name must equal model name " +
        '(write name: "resnet50_infer" into its configuration or leave it out, or rename the directory)',
    );
    const ensemble = await load(page, "ensemble_model");
    expect(errorOf(ensemble)).toContain(
      "unexpected directory name 'ensemble_model' for model 'ensemble_classification', directory name must equal " +
        'model name (write name: "ensemble_model" into its configuration or leave it out, or rename the directory)',
    );

    await repository.write("ensemble_classification/config.pbtxt", ENSEMBLE);
    const withoutClassifier = await load(page, "ensemble_classification");
    expect(errorOf(withoutClassifier)).toContain(
      "ensemble ensemble_classification contains models that are not available or ambiguous: resnet50_infer",
    );
    expect(errorOf(withoutClassifier)).toContain('write name: "resnet50_infer" into its configuration');

    await repository.write("resnet50_infer/config.pbtxt", CLASSIFIER("resnet50_infer"));
    const withoutVersion = await load(page, "ensemble_classification");
    expect(errorOf(withoutVersion)).toContain(
      "at least one version must be available under the version policy of model 'ensemble_classification'",
    );
    expect(errorOf(withoutVersion)).toContain("an ensemble needs one too: make an empty '1/'");

    // A file that counts for nothing keeps a directory that would be lost on its way through git and archives.
    await repository.write("ensemble_classification/1/.keep", "");
    expect(await load(page, "ensemble_classification")).toMatchObject({ status: 200 });
    const coffee = await photo("coffee.jpg");
    const answer = await inferBytes(
      page,
      "ensemble_classification",
      uint8("INPUT", [1, coffee.length], coffee),
    );
    expect(output(answer, "OUTPUT").data).toEqual(["espresso"]);
    await origin.close();
    await repository.remove();
  });
});

test.describe("text_reading", () => {
  interface Line {
    readonly text: string;
    readonly at: readonly [x: number, y: number];
    readonly size: number;
  }
  const PAGE: readonly Line[] = [
    { text: "Hello Triton 2026", at: [60, 80], size: 56 },
    { text: "one line of many", at: [60, 180], size: 44 },
    { text: "another of them", at: [60, 260], size: 44 },
    { text: "left", at: [60, 350], size: 44 },
    { text: "right", at: [620, 352], size: 44 },
  ];

  async function written(page: Page, lines: readonly Line[]): Promise<Uint8Array> {
    const file = await page.evaluate(async (all) => {
      const canvas = new OffscreenCanvas(900, 420);
      const context = canvas.getContext("2d");
      if (context === null) throw new Error("no 2D canvas");
      context.fillStyle = "white";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.fillStyle = "black";
      context.textBaseline = "middle";
      for (const { at, size, text } of all) {
        context.font = `${size}px sans-serif`;
        context.fillText(text, at[0], at[1]);
      }
      const blob = await canvas.convertToBlob({ type: "image/png" });
      return Array.from(new Uint8Array(await blob.arrayBuffer()));
    }, lines);
    return Uint8Array.from(file);
  }

  const read = (page: Page, file: Uint8Array): Promise<Answer> =>
    inferBytes(page, "text_reading", uint8("IMAGE", [file.length], file));

  test("reads the lines of a page in their order, with boxes around them", async ({ blank, start }) => {
    await start(blank, { loadModels: ["text_reading"] });
    const answer = await read(blank, await written(blank, PAGE));
    expect(output(answer, "TEXT").data).toEqual(PAGE.map(({ text }) => text));
    expect(output(answer, "BOX").shape).toEqual([PAGE.length, 4]);
    const boxes = output(answer, "BOX").data as readonly number[];
    for (const [index, { at, size }] of PAGE.entries()) {
      const [left = 0, top = 0, width = 0, height = 0] = boxes.slice(index * 4, index * 4 + 4);
      expect(Math.abs(left - at[0])).toBeLessThan(size);
      expect(Math.abs(top + height / 2 - at[1])).toBeLessThan(size / 2);
      expect(width).toBeGreaterThan(height);
    }
    for (const score of output(answer, "SCORE").data) expect(score).toBeGreaterThan(0.8);

    const recognizer = await counts(blank, "ocr_recognizer");
    expect(recognizer.inferences).toBe(PAGE.length);
    expect(recognizer.executions).toBeLessThan(PAGE.length);
  });

  test("finds nothing on an empty page", async ({ blank, start }) => {
    await start(blank, { loadModels: ["text_reading"] });
    const answer = await read(blank, await written(blank, []));
    expect(output(answer, "TEXT")).toMatchObject({ shape: [0], data: [] });
    expect(output(answer, "BOX").shape).toEqual([0, 4]);
  });
});

test.describe("sound_features", () => {
  /** Sixteen windows of the embedding. */
  const PIECE = 62 * FRAME;

  const listen = (
    page: Page,
    samples: Float32Array,
    parameters: Readonly<Record<string, string | boolean>> = {},
  ): Promise<Answer> =>
    inferBytes(
      page,
      "sound_features",
      {
        name: "SAMPLES",
        datatype: "FP32",
        shape: [samples.length],
        bytes: new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength),
      },
      parameters,
    );

  function expectClose(actual: readonly unknown[], expected: readonly number[]): void {
    expect(actual).toHaveLength(expected.length);
    const differences = expected.map((value, index) => Math.abs(Number(actual[index]) - value));
    expect(Math.max(...differences)).toBeLessThan(1e-4);
  }

  test("makes embeddings of a sound, and hears the voice in it", async ({ blank, start }) => {
    await start(blank, { loadModels: ["sound_features"] });
    const voice = syntheticVoice(0, PIECE);
    const answer = await listen(blank, voice);
    const embeddings = output(answer, "EMBEDDINGS");
    expect(embeddings.shape).toEqual([16, 1, 1, 96]);
    expect(new Set(embeddings.data).size).toBeGreaterThan(1000);
    const [expected = []] = await runVadAlone([voice]);
    expectClose(output(answer, "SPEECH").data, expected);
  });

  test("takes the pieces of a stream as one sequence of the voice detector", async ({ blank, start }) => {
    await start(blank, { loadModels: ["sound_features"] });
    const voice = syntheticVoice(3, 2 * PIECE);
    const heard: unknown[] = [];
    for (const index of [0, 1]) {
      const piece = voice.slice(index * PIECE, (index + 1) * PIECE);
      const sequence = { sequence_id: "stream", sequence_start: index === 0, sequence_end: index === 1 };
      heard.push(...output(await listen(blank, piece, sequence), "SPEECH").data);
    }
    const [expected = []] = await runVadAlone([voice]);
    expectClose(heard, expected);
  });

  test("lets sounds of several requests share executions", async ({ blank, start }) => {
    await start(blank, { loadModels: ["sound_features"] });
    // Four windows each.
    const sounds = range(6).map((seed) => syntheticVoice(seed, 32 * FRAME));
    const alone = await listen(blank, sounds[2] ?? new Float32Array());
    const before = await counts(blank, "wake_embedding");
    const answers = await Promise.all(sounds.map((sound) => listen(blank, sound)));
    const after = await counts(blank, "wake_embedding");
    expect(answers.map(({ status }) => status)).toEqual(sounds.map(() => 200));
    expectClose(output(answers[2] ?? alone, "EMBEDDINGS").data, output(alone, "EMBEDDINGS").data.map(Number));
    expect(after.inferences - before.inferences).toBe(6 * 4);
    expect(after.executions - before.executions).toBeLessThan(6);
  });

  test("says how long a sound of one request may be", async ({ blank, start }) => {
    await start(blank, { loadModels: ["sound_features"] });
    const answer = await listen(blank, new Float32Array(3 * 16_000));
    expect(answer.status).toBe(400);
    expect(errorOf(answer)).toBe(
      "in ensemble 'sound_features', SAMPLES has 48000 values, more than the 32991 (two seconds) of one request",
    );
  });
});
