/**
 * `npm run test:clients`: tritonclient, perf_analyzer, curl and Prometheus against `naiad serve`, and the SDK against MLServer and
 * KServe. Needs Python 3; everything else is installed under .cache. Prints a line for each call, writes them as tables to
 * test-results/clients.md, and ends with 1 when anything failed.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { runClients } from "../conformance/src/clients/run-clients.ts";
import { ensureBrowser } from "./lib/browser.mjs";
import { ROOT } from "./lib/exec.mjs";

// So that what was started and written for the run goes with it.
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.once(signal, () => process.exit(code));
}
// Bytecode of what is installed makes the next run faster; beside our own scripts it would be in the repository's way.
process.env["PYTHONPYCACHEPREFIX"] = join(ROOT, ".cache/clients/bytecode");
await ensureBrowser();
const data = process.env["NAIAD_TEST_DATA"] ?? "";
const report = join(ROOT, "test-results/clients.md");
await mkdir(dirname(report), { recursive: true });
const counts = await runClients({
  root: ROOT,
  data: data === "" ? undefined : data,
  report,
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
