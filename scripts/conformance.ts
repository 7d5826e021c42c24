/**
 * `npm run conformance -- <folder>`: the suites that need test corpora which are not part of this repository. The folder holds
 * `model-configs/`, `models/` and so on; every suite that finds its corpus missing says so.
 */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { run } from "./lib/exec.mjs";

/** Test files that read the corpora. */
const SUITES = [
  "packages/model-config/src/corpus.test.ts",
  "packages/backend-onnxruntime/src/instance.test.ts",
];

const [folder = ""] = process.argv.slice(2);
const data = resolve(process.env["INIT_CWD"] ?? process.cwd(), folder);
if (folder === "" || !(await stat(data).catch(() => undefined))?.isDirectory()) {
  console.error(`no folder '${folder}'; usage: npm run conformance -- <folder with the test data>`);
  process.exit(2);
}
await run("node", ["node_modules/vitest/vitest.mjs", "run", ...SUITES], { env: { NAIAD_TEST_DATA: data } });
