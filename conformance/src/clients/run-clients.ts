import { rmSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeClientModels } from "./client-models.ts";
import { clientsReport, programsLeftOut } from "./clients-report.ts";
import type { Page } from "./curl-calls.ts";
import { runCurlCommands } from "./curl-calls.ts";
import { documentedCommands } from "./documented-commands.ts";
import { naiadServe } from "./naiad-serve.ts";
import { runNodeCalls } from "./node-calls.ts";
import { runKserveCalls, runMlserverCalls } from "./other-servers.ts";
import { runPerfAnalyzer, runPerfAnalyzerVariants } from "./perf-analyzer.ts";
import { runPerfLayouts } from "./perf-layouts.ts";
import { runPrometheus } from "./prometheus.ts";
import { runPythonCalls } from "./python-calls.ts";
import { runSecureCalls } from "./secure-calls.ts";
import { setUpClients } from "./set-up.ts";
import { runStubCalls } from "./stub-calls.ts";
import { createTally } from "./tally.ts";
import { runTraceCalls } from "./trace-calls.ts";

export interface ClientsRun {
  /** Of the repository, whose package is built and whose models are written. */
  readonly root: string;
  /** Folder with test material that is not part of the repository, where there is one. */
  readonly data: string | undefined;
  /** File for the table of every call and its result. */
  readonly report: string;
  readonly print: (line: string) => void;
}

const RELEASES = ["current", "24.04"] as const;

/** Programs that we did not write, against `naiad serve` and the SDK. Resolves with how it went. */
export async function runClients({
  data,
  print,
  report,
  root,
}: ClientsRun): Promise<{ readonly passed: number; readonly failed: number }> {
  const tally = createTally(print);
  const cache = join(root, ".cache/clients");
  const scripts = join(root, "conformance/clients");
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), "naiad-clients-"));
  const clean = (): void => {
    rmSync(scratch, { recursive: true, force: true });
  };
  process.once("exit", clean);
  const models = join(scratch, "models");
  /** A part that cannot even begin is one failure, and the others go on. */
  const part = async (name: string, run: () => Promise<void>): Promise<void> => {
    const began = performance.now();
    try {
      await run();
    } catch (error) {
      tally.note({
        client: name,
        name: "set-up",
        problem: error instanceof Error ? error.message : String(error),
      });
    }
    print(`---   ${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  };
  try {
    await writeClientModels(models, {
      models: join(root, "public/models"),
      examples: data && join(data, "triton-example-repository"),
    });
    const { tritonclient, ...tools } = setUpClients(cache, scripts);
    await part("set-up", async () => {
      await Promise.allSettled([...Object.values(tritonclient), ...Object.values(tools)]);
    });
    const pages = await pagesOf(root);
    await part("naiad serve", async () => {
      const served = await naiadServe(root, [
        ...["--model-repository", models, "--model-control-mode=explicit", "--load-model=*"],
        `--trace-config=triton,file=${join(scratch, "trace.json")}`,
      ]);
      try {
        await part("curl", () => runCurlCommands(pages, served, tally));
        for (const release of RELEASES) {
          await part(`tritonclient ${release}`, async () => {
            const python = await tritonclient[release];
            const args = [served.http, served.grpc, served.metrics, models];
            await runPythonCalls({ python, script: join(scripts, "main.py"), args, tally });
          });
        }
        await part("stubs", async () => {
          const python = await tritonclient.current;
          await runStubCalls({ python, root, scratch, scripts, served, tally });
        });
        await part("perf_analyzer, the newest", async () => {
          const calls = { analyzer: await tools.newestAnalyzer, served, scratch, tally };
          await runPerfAnalyzer(calls);
          const commands = pages.flatMap(({ markdown }) => documentedCommands(markdown, "perf_analyzer"));
          await runPerfAnalyzerVariants(
            calls,
            commands.map((command) => command.split(/\s+/).slice(1)),
          );
        });
        await part("perf_analyzer of the older tritonclient", async () => {
          const calls = { analyzer: await tools.bundledAnalyzer, served, scratch, tally };
          await runPerfAnalyzer(calls);
          await runPerfLayouts({ ...calls, root });
        });
        await part("Prometheus", () => runPrometheus(cache, scratch, served, tally));
      } finally {
        await tally.check("naiad serve", "drains and ends", async () => {
          await served.service.stop();
          const { exitCode } = served.service.process;
          if (exitCode !== 0) throw new Error(`exit code ${String(exitCode)}`);
          return undefined;
        });
      }
    });
    await part("naiad serve --runtime node", async () => {
      const python = await tritonclient.current;
      await runNodeCalls({ root, models, python, script: join(scripts, "main.py"), tally });
    });
    await part("naiad serve with TLS", async () => {
      const pythons = await Promise.all(RELEASES.map((release) => tritonclient[release]));
      await runSecureCalls({ root, scratch, models, pythons, scripts, tally });
    });
    await part("OpenTelemetry", async () =>
      runTraceCalls({ root, models, python: await tools.traces, scripts, tally }),
    );
    await part("MLServer", async () =>
      runMlserverCalls({ python: await tools.mlserver, scratch, scripts, tally }),
    );
    await part("KServe", async () => runKserveCalls({ python: await tools.kserve, scratch, scripts, tally }));
    await tally.check("Triton's example programs", "each is followed by both releases", async () => {
      const left = programsLeftOut(
        tally.notes(),
        await Promise.all(RELEASES.map((name) => versionOf(scripts, name))),
      );
      if (left.length > 0) throw new Error(left.join(", "));
      return undefined;
    });
    await writeFile(report, `${clientsReport(tally.notes())}\n`);
  } finally {
    clean();
    process.off("exit", clean);
  }
  return tally.counts();
}

/** Pages of the documentation that may show commands. */
async function pagesOf(root: string): Promise<readonly Page[]> {
  const guide = (await readdir(join(root, "docs/guide"))).map((name) => `docs/guide/${name}`);
  return Promise.all(
    ["README.md", ...guide.toSorted()].map(async (name) => ({
      name,
      markdown: await readFile(join(root, name), "utf8"),
    })),
  );
}

async function versionOf(scripts: string, release: string): Promise<string> {
  const requirements = await readFile(join(scripts, `requirements-${release}.txt`), "utf8");
  return /^tritonclient\[all\]==(\S+)$/m.exec(requirements)?.[1] ?? "";
}
