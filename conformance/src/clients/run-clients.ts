import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeClientModels } from "./client-models.ts";
import { runCurlCommands } from "./curl-calls.ts";
import { pythonEnvironment } from "./environments.ts";
import { runMlserverCalls } from "./mlserver.ts";
import { naiadServe } from "./naiad-serve.ts";
import { findPerfAnalyzer, runPerfAnalyzer } from "./perf-analyzer.ts";
import { runPrometheus } from "./prometheus.ts";
import { runPythonCalls } from "./python-calls.ts";
import { runSecureCalls } from "./secure-calls.ts";
import { createTally } from "./tally.ts";

export interface ClientsRun {
  /** Of the repository, whose package is built and whose models are written. */
  readonly root: string;
  /** Folder with test material that is not part of the repository, where there is one. */
  readonly data: string | undefined;
  readonly print: (line: string) => void;
}

/** Releases of `tritonclient`, by the files that name them. */
const RELEASES = ["current", "24.04"] as const;

/** Programs that we did not write, against `naiad serve` and the SDK. Resolves with how it went. */
export async function runClients({
  data,
  print,
  root,
}: ClientsRun): Promise<{ readonly passed: number; readonly failed: number }> {
  const tally = createTally(print);
  const cache = join(root, ".cache/clients");
  const scripts = join(root, "conformance/clients");
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), "naiad-clients-"));
  const models = join(scratch, "models");
  /** A part that cannot even begin is one failure, and the others go on. */
  const part = async (name: string, run: () => Promise<void>): Promise<void> => {
    const began = performance.now();
    try {
      await run();
    } catch (error) {
      tally.note(name, "set-up", error instanceof Error ? error.message : String(error));
    }
    print(`---   ${name}: ${((performance.now() - began) / 1000).toFixed(0)} s`);
  };
  try {
    await writeClientModels(models, {
      models: join(root, "public/models"),
      examples: data && join(data, "triton-example-repository"),
    });
    const pythons = new Map<string, string>();
    await part("set-up of Python", async () => {
      for (const release of RELEASES) {
        const requirements = join(scripts, `requirements-${release}.txt`);
        pythons.set(release, await pythonEnvironment(cache, `tritonclient-${release}`, requirements));
      }
    });
    await part("naiad serve", async () => {
      const served = await naiadServe(root, [
        ...["--model-repository", models, "--model-control-mode=explicit", "--load-model=*"],
      ]);
      try {
        await part("curl", () => runCurlCommands(join(root, "docs/guide/serve.md"), served, tally));
        const args = [served.http, served.grpc, served.metrics, models];
        for (const [release, python] of pythons) {
          await part(`tritonclient ${release}`, () =>
            runPythonCalls({ python, script: join(scripts, "main.py"), args, tally }),
          );
        }
        await part("perf_analyzer", async () => {
          const python = pythons.get("24.04");
          if (python === undefined) throw new Error("the package that brings it is not installed");
          await runPerfAnalyzer(await findPerfAnalyzer(cache, python), served, tally);
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
    await part("naiad serve with TLS", async () => {
      const python = pythons.get("current");
      if (python === undefined) throw new Error("tritonclient is not installed");
      const script = join(scripts, "secure_calls.py");
      await runSecureCalls({ root, scratch, models, call: { python, script, tally } });
    });
    await part("MLServer", () =>
      runMlserverCalls({ cache, scratch, model: join(scripts, "mlserver"), tally }),
    );
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return tally.counts();
}
