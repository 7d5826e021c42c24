import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { BLAZEFACE, OCR, packageDirectory } from "./sample-models.ts";
import { recognizerLabels } from "./recognizer-labels.ts";
import type { ModelDirectory } from "./write-models.ts";

/** Ensembles of the sample models. Triton wants a version directory for each, empty or not. */
const ENSEMBLES = ["image_classification", "text_reading", "sound_features"];

interface JavaScriptModel {
  readonly name: string;
  /** Files of `javascript/`: the model, and what it imports. */
  readonly modules: readonly [model: string, ...siblings: string[]];
  readonly files?: () => Promise<Readonly<Record<string, Uint8Array | string>>>;
}

const JAVASCRIPT_MODELS: readonly JavaScriptModel[] = [
  { name: "image_pixels", modules: ["image-pixels.js", "answer-each.js", "decode-image.js"] },
  {
    name: "image_label",
    modules: ["image-label.js", "answer-each.js"],
    files: async () => ({ "labels.txt": await text("efficientnet_lite0/labels.txt") }),
  },
  { name: "text_image", modules: ["text-image.js", "answer-each.js", "decode-image.js"] },
  {
    name: "text_lines",
    modules: [
      "text-lines.js",
      "answer-each.js",
      "ctc.js",
      "decode-image.js",
      "ink-bounds.js",
      "make-ready.js",
      "text-regions.js",
    ],
    files: async () => {
      const dictionary = join(packageDirectory(OCR), "assets/ppocr_keys_v1.txt");
      return { "labels.txt": recognizerLabels(await readFile(dictionary, "utf8")) };
    },
  },
  { name: "sound_scale", modules: ["sound-scale.js", "answer-each.js"] },
  { name: "sound_windows", modules: ["sound-windows.js", "answer-each.js", "windows.js"] },
  { name: "voice_frames", modules: ["voice-frames.js", "answer-each.js", "make-ready.js"] },
];

/**
 * Pipelines over the models of `sampleModels`: ensembles, their steps in JavaScript, and the classifier, which no npm package has
 * (`scripts/convert-efficientnet.ts` made it).
 */
export async function pipelineModels(): Promise<readonly ModelDirectory[]> {
  return await Promise.all([
    classifier(),
    ...JAVASCRIPT_MODELS.map(javaScriptModel),
    ...ENSEMBLES.map(async (name) => ({
      name,
      directories: ["1"],
      files: { "config.pbtxt": await text(`${name}/config.pbtxt`) },
    })),
  ]);
}

async function classifier(): Promise<ModelDirectory> {
  const name = "efficientnet_lite0";
  const [config, labels, notice, licence, model] = await Promise.all([
    text(`${name}/config.pbtxt`),
    text(`${name}/labels.txt`),
    text(`${name}/NOTICE.txt`),
    // The plain text of the Apache License 2.0 comes with this package.
    readFile(join(packageDirectory(BLAZEFACE), "LICENSE"), "utf8"),
    readFile(new URL(`${name}/1/model.onnx`, import.meta.url)),
  ]);
  return {
    name,
    files: {
      "1/model.onnx": model,
      "config.pbtxt": config,
      "labels.txt": labels,
      "LICENSE.txt": licence,
      "NOTICE.txt": notice,
    },
  };
}

export async function javaScriptModel({ files, modules, name }: JavaScriptModel): Promise<ModelDirectory> {
  const [model, ...siblings] = modules;
  return {
    name,
    files: {
      "config.pbtxt": await text(`${name}/config.pbtxt`),
      "1/model.js": await text(`javascript/${model}`),
      ...Object.fromEntries(
        await Promise.all(
          siblings.map(async (file) => [`1/${file}`, await text(`javascript/${file}`)] as const),
        ),
      ),
      ...(await files?.()),
    },
  };
}

function text(path: string): Promise<string> {
  return readFile(new URL(path, import.meta.url), "utf8");
}
