import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ensembleModels, fixtureModels } from "@naiad/testing/fixture-models";

/**
 * Writes small model directories for tests, benchmarks and the playground; the same bytes every time.
 *
 *     npx tsx scripts/make-fixture-models.ts [folder, default public/models]
 *
 * | model            | what it computes                                         | what it is for                                |
 * | ---------------- | -------------------------------------------------------- | --------------------------------------------- |
 * | `simple`         | INT32 [16] sum and difference, batch 8                   | Triton's first example; unnamed batch dim     |
 * | `simple_string`  | the same sums of numbers as text, batch 8, KIND_GPU      | the GPU builds have no kernels for strings    |
 * | `identity_fp32`  | copies FP32 [-1], batch 64                               | transfer sizes, shape rules                   |
 * | `identity_fp16`  | copies FP16 [-1], batch 8                                | binary-only datatype                          |
 * | `identity_int64` | copies INT64 [-1], batch 8                               | integers beyond 2^53                          |
 * | `identity_bool`  | copies BOOL [-1], batch 8                                | one byte per element                          |
 * | `identity_bytes` | copies BYTES [-1], batch 8                               | strings, NUL, invalid UTF-8                   |
 * | `add_sub_float`  | FP32 [16] sum and difference, no config.pbtxt            | auto-complete: batch 4, dynamic batching      |
 * | `mlp_2x128`      | MLP 128-128-128-16, batch 32, CPU                        | batching gains on a tiny model                |
 * | `mlp_2x128_gpu`  | the same bytes, KIND_GPU                                 | WebGPU equals WASM; fall-back                 |
 * | `cnn_224`        | four convolutions on [3,224,224], ten classes, batch 16  | compute-bound batching, 600 KB inputs         |
 * | `batcher`        | 2x + 1 on FP32 [4], batch 16, queue delay 5 ms           | executions counted under concurrent requests  |
 * | `slow_loop`      | ITERATIONS matrix products, batch 4, watchdog 3 s        | long runs (1000) and real hangs (10^12)       |
 * | `classifier`     | softmax scores of three labelled classes, batch 8        | label file, classification                    |
 * | `fp16_add`       | FP16 [16] sum, KIND_GPU                                  | adapters without shader-f16                   |
 * | `external_data`  | FP32 [64] x weights in `1/weights.bin`                   | external data                                 |
 * | `versions`       | version 1 adds 100, version 2 adds 200, policy `all`     | versions side by side                         |
 * | `optional_input` | FP32 [4] INPUT + BIAS, where BIAS may be left out        | an initializer that is also an input          |
 * | `ragged_sum`     | sums of requests of any length, batch 16, delay 20 ms    | ragged batching, batch inputs and outputs     |
 * | `conv_128`       | FP32 [128, 8] convolution, no instance group             | verified on WebGPU, and stays there           |
 * | `conv_129`       | the same with 129 channels                               | wrong on WebGPU: moved to WASM                |
 *
 * Beside them stand `ensemble_chain` (`batcher`, then `classifier`, whose labels it has) and `ensemble_diamond` (`batcher`,
 * then both versions of `versions` side by side, then their sum by a model that does not batch).
 */
const target = process.argv[2] ?? "public/models";
for (const model of [...fixtureModels(), ...ensembleModels()]) {
  for (const path of model.directories ?? []) {
    await mkdir(join(target, model.name, path), { recursive: true });
  }
  for (const [path, content] of Object.entries(model.files)) {
    const file = join(target, model.name, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}
