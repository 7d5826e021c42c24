/**
 * `npm run test:clients`: tritonclient, perf_analyzer, curl and Prometheus against `naiad serve`, and the SDK against MLServer. Needs
 * Python 3; everything else is installed under .cache. Prints a line for each call, and ends with 1 when anything failed.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runClients } from "../conformance/src/clients/run-clients.ts";
import { ensureBrowser } from "./lib/browser.mjs";
import { ROOT } from "./lib/exec.mjs";

await ensureBrowser();
const data = process.env["NAIAD_TEST_DATA"] ?? "";
const counts = await runClients({
  root: ROOT,
  data: data === "" ? undefined : data,
  print: (line) => {
    console.log(line);
  },
});
const results = process.env["NAIAD_RESULTS"];
if (results !== undefined) {
  await mkdir(results, { recursive: true });
  await writeFile(join(results, "clients.json"), JSON.stringify(counts));
}
console.log(`${String(counts.passed)} passed, ${String(counts.failed)} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
