/**
 * How exactly the host's clock wakes in a real Chromium: the error of a wait, which is the error of a queue delay. Measured
 * in a worker of a page that is visible and of one that is hidden behind another tab, with and without cross-origin
 * isolation, in a browser without DevTools and without switches against throttling.
 * Run with `npm run bench:clock`.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { ensureBrowser } from "../../../scripts/lib/browser.mjs";
import type { ClockReport, ClockSeries } from "./clock-report.ts";

const DEADLINE_MS = 120_000;

/** A page that starts the worker, where it is to be hidden after another tab stands in front of it. */
const PAGE = `<!doctype html><title>clock</title><script type="module">
  const isHidden = new URLSearchParams(location.search).has("hidden");
  if (isHidden) {
    open("/front", "_blank");
    for (let turn = 0; turn < 50 && document.visibilityState !== "hidden"; turn += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const worker = new Worker("/worker.js", { type: "module" });
  const report = await new Promise((resolve) => (worker.onmessage = ({ data }) => resolve(data)));
  await fetch("/report", {
    method: "POST",
    body: JSON.stringify({ ...report, visibility: document.visibilityState }),
  });
</script>`;
const ISOLATION = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

async function bundledWorker(): Promise<string> {
  const result = await build({
    configFile: false,
    logLevel: "warn",
    publicDir: false,
    build: {
      write: false,
      target: "es2022",
      rolldownOptions: {
        input: fileURLToPath(new URL("clock-worker.ts", import.meta.url)),
        output: { codeSplitting: false },
      },
    },
  });
  if (!("output" in result)) throw new Error("the worker was not built");
  return result.output[0].code;
}

interface Situation {
  readonly name: string;
  readonly isolated: boolean;
  readonly hidden: boolean;
}

const SITUATIONS: readonly Situation[] = [
  { name: "isolated", isolated: true, hidden: false },
  { name: "isolated, hidden tab", isolated: true, hidden: true },
  { name: "not isolated", isolated: false, hidden: false },
  { name: "not isolated, hidden tab", isolated: false, hidden: true },
];

async function measure({ isolated, hidden }: Situation, worker: string): Promise<ClockReport> {
  let report: (result: ClockReport) => void = () => undefined;
  const reported = new Promise<ClockReport>((resolve) => (report = resolve));
  const server = createServer((request, response) => {
    const isWorker = request.url === "/worker.js";
    const type = isWorker ? "text/javascript" : "text/html";
    response.writeHead(200, { "content-type": type, ...(isolated ? ISOLATION : {}) });
    if (request.url !== "/report") {
      response.end(isWorker ? worker : request.url === "/front" ? "<!doctype html>in front" : PAGE);
      return;
    }
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      response.end();
      report(JSON.parse(Buffer.concat(parts).toString("utf8")) as ClockReport);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const profile = await mkdtemp(join(tmpdir(), "naiad-clock-"));
  const browser = spawn(
    await ensureBrowser(),
    [
      "--headless=new",
      `--user-data-dir=${profile}`,
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-popup-blocking",
      ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
      `http://127.0.0.1:${port}/${hidden ? "?hidden" : ""}`,
    ],
    { stdio: "ignore" },
  );
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error("no report in time"));
    }, DEADLINE_MS);
  });
  try {
    return await Promise.race([reported, late]);
  } finally {
    clearTimeout(timer);
    browser.kill();
    server.closeAllConnections();
    server.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

function row(name: string, series: ClockSeries): string {
  const { delayMs, clockErrorsMs, timeoutErrorsMs, loopErrorsMs } = series;
  const cells = [
    name,
    `${delayMs} ms`,
    ...[0.5, 0.99, 1].map((share) => quantile(clockErrorsMs, share)),
    ...[0.5, 0.99].map((share) => quantile(timeoutErrorsMs, share)),
    quantile(loopErrorsMs, 0.99),
  ];
  return `| ${cells.join(" | ")} |`;
}

function quantile(samples: readonly number[], share: number): string {
  const sorted = samples.toSorted((a, b) => a - b);
  return (sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN).toFixed(2);
}

const worker = await bundledWorker();
console.log(
  `Machine: ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, load ${loadavg()[0]?.toFixed(2) ?? "?"}`,
);
console.log("How many milliseconds after the moment asked for a wait ended.\n");
console.log(
  "| situation | wait | clock p50 | clock p99 | clock max | setTimeout p50 | setTimeout p99 | busy loop p99 |\n" +
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
);
for (const situation of SITUATIONS) {
  const { isolated, visibility, resolutionNs, series } = await measure(situation, worker);
  if (isolated !== situation.isolated || (visibility === "hidden") !== situation.hidden) {
    throw new Error(`the page is not ${situation.name}: isolated ${String(isolated)}, ${String(visibility)}`);
  }
  const name = `${situation.name} (clock steps by ${(resolutionNs / 1000).toFixed(0)} us)`;
  for (const entry of series) console.log(row(name, entry));
}
