/**
 * End-to-end benchmarks in a browser without DevTools instrumentation, which copies request bodies: the page measures and
 * reports by itself. Prints machine, adapter, isolation, versions and ratios; absolute times are for reading, not for tests.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureBrowser } from "../../scripts/lib/browser.mjs";
import { SOFTWARE_GPU } from "../browser-arguments.ts";
import { buildPages, serveOrigin } from "../origin.ts";
import type { EnsembleSeries } from "../pages/bench-ensemble.ts";
import type {
  BenchPart,
  BenchReport,
  LatencySeries,
  ScalingSeries,
  ThroughputSeries,
} from "../pages/bench-page.ts";

const DEADLINE_MS = 10 * 60_000;

const PARTS: readonly BenchPart[] = ["latency", "throughput", "scaling", "ensemble"];

const { values } = parseArgs({
  options: {
    samples: { type: "string", default: "40" },
    /** One of `PARTS`; all of them take about four minutes. */
    only: { type: "string" },
    /** Measures WebGPU on a software adapter, where there is no other. */
    "software-gpu": { type: "boolean", default: false },
    out: { type: "string" },
  },
});
if (values.only !== undefined && !PARTS.some((part) => part === values.only)) {
  throw new Error(`--only is one of ${PARTS.join(", ")}, not '${values.only}'`);
}

await buildPages();
let report: (result: BenchReport) => void = () => undefined;
const reported = new Promise<BenchReport>((resolve) => {
  report = resolve;
});
const query = new URLSearchParams({
  samples: values.samples,
  ...(values.only !== undefined && { only: values.only }),
  ...(values["software-gpu"] && { "software-gpu": "" }),
});
const origin = await serveOrigin({ onReport: (text) => report(JSON.parse(text) as BenchReport) });
const profile = await mkdtemp(join(tmpdir(), "naiad-bench-"));
const browser = spawn(
  await ensureBrowser(),
  [
    "--headless=new",
    `--user-data-dir=${profile}`,
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
    ...(values["software-gpu"] ? SOFTWARE_GPU : []),
    `${origin.url}bench.html?${query.toString()}`,
  ],
  { stdio: "ignore" },
);
const deadline = setTimeout(
  () =>
    report({
      environment: {},
      latency: [],
      throughput: [],
      scaling: [],
      ensemble: [],
      skipped: [],
      error: "no report in time",
    }),
  DEADLINE_MS,
);
const result = await reported;
clearTimeout(deadline);
browser.kill();
await origin.close();
await rm(profile, { recursive: true, force: true, maxRetries: 5 });

if (result.error !== undefined) throw new Error(result.error);
if (values.out !== undefined) await writeFile(values.out, JSON.stringify(result, null, 2));
console.log(await table(result));

async function table(result: BenchReport): Promise<string> {
  const { environment, latency, throughput, scaling, ensemble, skipped } = result;
  const ortVersion = JSON.parse(
    await readFile(new URL("../node_modules/onnxruntime-web/package.json", import.meta.url), "utf8"),
  ) as {
    readonly version: string;
  };
  const lines = [
    `Machine: ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, load ${loadavg()[0]?.toFixed(2) ?? "?"}, Node ${process.versions.node}`,
    `Engine: onnxruntime-web ${ortVersion.version}`,
    ...Object.entries(environment).map(([name, value]) => `${name}: ${value}`),
    ...section(
      "| model | input | hand-written worker | SDK | fetch | SDK / hand-written | fetch / hand-written |",
      latency.map(latencyRow),
    ),
    ...section(
      "| model | clients | one at a time | all clients | ratio | executions per request |",
      throughput.map(throughputRow),
    ),
    ...section(
      "| model | batching | CPU instances | 1 client | 8 clients | 32 clients | 8 / 1 | 32 / 1 | 32: to plain | requests per execution at 32 |",
      scaling.map((series) => scalingRow(series, scaling)),
    ),
    ...section(
      "| three steps on | tensors | SDK: ensemble | SDK: step by step | fetch: ensemble | fetch: step by step | SDK: steps / ensemble | fetch: steps / ensemble | readbacks per request |",
      ensemble.map(ensembleRow),
    ),
    ...skipped.map((reason) => `Not measured: ${reason}.`),
  ];
  return lines.join("\n");
}

function latencyRow({ model, inputBytes, samplesMs }: LatencySeries): string {
  const [peer, sdk, viaFetch] = [samplesMs["hand-written"], samplesMs.sdk, samplesMs.fetch].map(median) as [
    number,
    number,
    number,
  ];
  const cells = [
    model,
    `${(inputBytes / 1000).toFixed(1)} KB`,
    ...[peer, sdk, viaFetch].map((value) => `${value.toFixed(2)} ms`),
    (sdk / peer).toFixed(2),
    (viaFetch / peer).toFixed(2),
  ];
  return `| ${cells.join(" | ")} |`;
}

function ensembleRow({ device, tensorBytes, samplesMs, readbacksPerRequest }: EnsembleSeries): string {
  const [sdk, sdkSteps, viaFetch, fetchSteps] = [
    samplesMs["sdk ensemble"],
    samplesMs["sdk steps"],
    samplesMs["fetch ensemble"],
    samplesMs["fetch steps"],
  ].map(median) as [number, number, number, number];
  const cells = [
    device === "CPU" ? "CPU" : "WebGPU",
    `${(tensorBytes / 1000).toFixed(1)} KB`,
    ...[sdk, sdkSteps, viaFetch, fetchSteps].map((value) => `${value.toFixed(2)} ms`),
    (sdkSteps / sdk).toFixed(2),
    (fetchSteps / viaFetch).toFixed(2),
    device === "CPU" ? "" : String(readbacksPerRequest),
  ];
  return `| ${cells.join(" | ")} |`;
}

function throughputRow({
  model,
  clients,
  single,
  concurrent,
  executionsPerRequest,
}: ThroughputSeries): string {
  const [one, all] = [median(single), median(concurrent)];
  const cells = [
    model,
    String(clients),
    `${one.toFixed(0)}/s`,
    `${all.toFixed(0)}/s`,
    (all / one).toFixed(2),
    executionsPerRequest.toFixed(3),
  ];
  return `| ${cells.join(" | ")} |`;
}

/** A table with its head, unless it is empty. */
function section(head: string, rows: readonly string[]): readonly string[] {
  if (rows.length === 0) return [];
  const columns = head.split("|").length - 2;
  const rule = Array.from({ length: columns }, (_, index) => (index === 0 ? "---" : "---:"));
  return ["", head, `| ${rule.join(" | ")} |`, ...rows];
}

/** `plain` is one instance without batching of the same model at as many clients. */
function scalingRow(series: ScalingSeries, all: readonly ScalingSeries[]): string {
  const rates = series.byClients.map(({ perSecond }) => median(perSecond));
  const [one = Number.NaN, eight = Number.NaN, many = Number.NaN] = rates;
  const plain = all.find(
    ({ model, batching, instances }) => model === series.model && !batching && instances === 1,
  );
  const cells = [
    series.model,
    series.batching ? "on" : "off",
    String(series.instances),
    ...rates.map((rate) => `${rate.toFixed(0)}/s`),
    (eight / one).toFixed(2),
    (many / one).toFixed(2),
    (many / median(plain?.byClients.at(-1)?.perSecond ?? [])).toFixed(2),
    (series.byClients.at(-1)?.batch ?? Number.NaN).toFixed(1),
  ];
  return `| ${cells.join(" | ")} |`;
}

function median(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}
