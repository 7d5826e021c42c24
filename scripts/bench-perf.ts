/**
 * `npm run bench:perf`: interleaved pairs of perf_analyzer and `naiad perf` against one `naiad serve`, over HTTP and gRPC. Prints the
 * machine, the medians, their ratio, and how much of the processor each program itself needed. Needs Python 3 for the package
 * that brings perf_analyzer; it is installed under .cache.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pythonEnvironment } from "../conformance/src/clients/environments.ts";
import { bundledPerfAnalyzer } from "../conformance/src/clients/perf-analyzer.ts";
import { runPairs } from "../conformance/src/perf-pairs/run-pairs.ts";
import { ensureBrowser } from "./lib/browser.mjs";
import { ROOT } from "./lib/exec.mjs";

const { values } = parseArgs({
  options: {
    pairs: { type: "string", default: "5" },
    /** Names of models under public/models. */
    models: { type: "string", default: "simple,mlp_2x128" },
    concurrencies: { type: "string", default: "1,4,8" },
    /** Of a window, in milliseconds; a run has three. */
    window: { type: "string", default: "2000" },
  },
});
await ensureBrowser();
const cache = join(ROOT, ".cache/clients");
await mkdir(cache, { recursive: true });
const requirements = join(ROOT, "conformance/clients/requirements-24.04.txt");
const python = await pythonEnvironment(cache, "tritonclient-24.04", requirements);
await runPairs({
  root: ROOT,
  analyzer: await bundledPerfAnalyzer(cache, python),
  models: values.models.split(","),
  concurrencies: values.concurrencies.split(",").map(Number),
  pairs: Number(values.pairs),
  windowMs: Number(values.window),
  print: (line) => {
    console.log(line);
  },
});
