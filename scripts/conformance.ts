/**
 * `npm run conformance -- <folder> [word ...]`: test material that is not part of this repository, run against the server. The
 * folder holds `model-configs/`, `onnx-node/` and so on; words choose suites. Ends with 1 when anything failed.
 */
import { mkdir, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { runConformance } from "../conformance/src/run-conformance.ts";

const [given = "", ...words] = process.argv.slice(2);
const folder = resolve(process.env["INIT_CWD"] ?? process.cwd(), given);
if (given === "" || !(await stat(folder).catch(() => undefined))?.isDirectory()) {
  console.error(`no folder '${given}'; usage: npm run conformance -- <folder with the test data> [word ...]`);
  process.exit(2);
}
const counts = await runConformance({
  folder,
  print: (text) => {
    console.log(text);
  },
  ...(words.length === 0 ? {} : { only: words }),
});
const results = process.env["NAIAD_RESULTS"];
if (results !== undefined) {
  await mkdir(results, { recursive: true });
  await writeFile(join(results, "conformance.json"), JSON.stringify(counts));
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
// The engine and its threads would keep the process alive.
process.exit(counts.failed === 0 ? 0 : 1);
