import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  byteSourceOf,
  checkOnnxModel,
  completeBackend,
  normalizeConfig,
  parseConfigText,
  readOnnxModel,
  validateConfig,
} from "../../packages/model-config/src/index.ts";
import { recognizerLabels } from "./recognizer-labels.ts";
import { sampleModels } from "./sample-models.ts";
import { type ModelDirectory, writeModels } from "./write-models.ts";

let models: readonly ModelDirectory[];
let target: string;
beforeAll(async () => {
  models = await sampleModels();
  target = await mkdtemp(join(tmpdir(), "naiad-models-"));
});
afterAll(() => rm(target, { recursive: true }));

describe("the sample models", () => {
  it("are those of text, of faces and of speech", () => {
    expect(models.map(({ name }) => name)).toEqual([
      "ocr_recognizer",
      "ocr_detector",
      "blazeface",
      "blazeface_back",
      "silero_vad",
      "mel_spectrogram",
      "wake_embedding",
    ]);
  });

  it("have configurations that fit their files", async () => {
    for (const { files, name } of models) {
      const parsed = parseConfigText(String(files["config.pbtxt"]), { fileName: `${name}/config.pbtxt` });
      const directory = { name, directories: [], filePaths: Object.keys(files) };
      const config = normalizeConfig(completeBackend(parsed, directory));
      const issues = validateConfig(config, { stage: "poll", directoryName: name, autoComplete: false });
      const onnx = await readOnnxModel(byteSourceOf(files["1/model.onnx"] as Uint8Array));
      expect([name, ...issues, ...checkOnnxModel(config, onnx)]).toEqual([name]);
    }
  });

  it("name their source and licence", () => {
    for (const { files } of models) {
      expect(files["NOTICE.txt"]).toMatch(
        /(Apache License 2\.0|MIT License) [^]*the npm package \S+ \d+\.\d+\.\d+ \(/,
      );
      expect(files["LICENSE.txt"]).toMatch(/^\s*(Apache License\s+Version 2\.0|MIT License\s+Copyright)/);
    }
  });

  it("are written once and left alone after that", async () => {
    expect(await writeModels(models, target)).toEqual({ models: 7, written: 29 });
    const labels = join(target, "ocr_recognizer/labels.txt");
    const { mtimeMs } = await stat(labels);
    await writeFile(join(target, "blazeface/config.pbtxt"), "spoiled");
    expect(await writeModels(models, target)).toEqual({ models: 7, written: 1 });
    expect((await stat(labels)).mtimeMs).toBe(mtimeMs);
    expect(await readFile(join(target, "blazeface/config.pbtxt"), "utf8")).toContain('name: "blazeface"');
  });
});

describe("recognizerLabels", () => {
  it("puts the blank first and the space last", () => {
    const labels = String(models[0]?.files["labels.txt"]).split("\n");
    expect([labels[0], labels[6624], labels[6625]]).toEqual(["<blank>", " ", ""]);
    expect(labels).toContain("T");
  });

  it("refuses a dictionary for another model", () => {
    expect(() => recognizerLabels("a\nb\n")).toThrow(
      "the dictionary makes 4 labels where the model has 6625",
    );
  });
});
