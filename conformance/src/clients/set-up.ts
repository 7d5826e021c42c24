import { join } from "node:path";
import { debianPackage, pythonEnvironment } from "./environments.ts";
import type { PerfAnalyzer } from "./perf-analyzer.ts";
import { bundledPerfAnalyzer, newestPerfAnalyzer } from "./perf-analyzer.ts";

/** What the clients are tried with. Each is there, or rejects with the reason, by itself. */
export interface ClientTools {
  /** Python with that release of `tritonclient`, by the end of the name of the file that lists it. */
  readonly tritonclient: Readonly<Record<"current" | "24.04", Promise<string>>>;
  readonly mlserver: Promise<string>;
  readonly kserve: Promise<string>;
  /** Python with OpenTelemetry's messages. */
  readonly traces: Promise<string>;
  readonly newestAnalyzer: Promise<PerfAnalyzer>;
  readonly bundledAnalyzer: Promise<PerfAnalyzer>;
  /** Debian's package, unpacked. */
  readonly prometheus: Promise<string>;
}

/** Begins to fetch them all into `cache`; what is there already is not fetched again. */
export function setUpClients(cache: string, scripts: string): ClientTools {
  const pypi = lane();
  const debian = lane();
  const python = (name: string, file: string): Promise<string> =>
    pypi(() => pythonEnvironment(cache, name, join(scripts, file)));
  const current = python("tritonclient-current", "requirements-current.txt");
  const older = python("tritonclient-24.04", "requirements-24.04.txt");
  return {
    tritonclient: { current, "24.04": older },
    mlserver: python("mlserver", "mlserver/requirements.txt"),
    kserve: python("kserve", "kserve/requirements.txt"),
    traces: python("traces", "traces/requirements.txt"),
    prometheus: debian(() => debianPackage(cache, "prometheus")),
    bundledAnalyzer: debian(async () => bundledPerfAnalyzer(cache, await older)),
    // After `older`, both lanes have the installer.
    newestAnalyzer: debian(() => newestPerfAnalyzer(cache)),
  };
}

/** Tasks of a lane run one after the other; one that fails does not keep the next from running. */
function lane(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task, task);
    // Whoever wants it hears of the failure then.
    next.catch(() => undefined);
    last = next;
    return next;
  };
}
