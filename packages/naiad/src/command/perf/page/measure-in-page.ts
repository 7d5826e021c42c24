import type { PerfReport } from "../../../perf/perf-report.ts";
import { ownDirectories } from "../../../site/package-directories.ts";
import { requireRepository } from "../../require-repository.ts";
import { browserArguments } from "../../serve/browser/browser-arguments.ts";
import { requireBrowser } from "../../serve/browser/find-browser.ts";
import { hasGpu } from "../../serve/browser/has-gpu.ts";
import { createBrowserProfile } from "../../serve/browser/launch-browser.ts";
import type { PerfCommand } from "../perf-options.ts";
import type { PageOptions } from "./page-options.ts";
import type { PageEvent } from "./perf-site.ts";
import { openPerfSite } from "./perf-site.ts";

export interface PageMeasurement {
  readonly command: Pick<PerfCommand, "settings" | "input">;
  readonly page: PageOptions;
  /** Hears everything but the last event. */
  readonly onEvent: (event: PageEvent) => void;
  readonly onWarning: (message: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Starts a browser with the server in a page, and measures from inside that page: no byte of a request leaves it. Rejects with what
 * the page failed with, with how the browser ended, and with the signal's reason.
 */
export async function measureInPage(measurement: PageMeasurement): Promise<PerfReport> {
  const { onEvent, onWarning, page, signal } = measurement;
  for (const directory of page.repositories) await requireRepository(directory);
  const path = requireBrowser(page.browser.path, process.env);
  const profile = await createBrowserProfile({
    path,
    arguments: browserArguments(
      { ...page.browser, path, arguments: [] },
      { platform: process.platform, hasGpu: hasGpu(process.platform) },
    ),
    onOutput: () => undefined,
  });
  let resolve: (report: PerfReport) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const reported = new Promise<PerfReport>((...settle) => {
    [resolve, reject] = settle;
  });
  const site = await openPerfSite({
    directories: ownDirectories(),
    repositories: page.repositories,
    start: startOf(measurement),
    onWarning,
    onEvent: (event) => {
      if (event.kind === "done") resolve(event.report);
      else if (event.kind === "failed") reject(new Error(event.reason));
      else onEvent(event);
    },
  });
  const onAbort = (): void => {
    const reason: unknown = signal.reason;
    reject(reason instanceof Error ? reason : new Error(String(reason)));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    signal.throwIfAborted();
    const browser = await profile.open(site.url);
    void browser.exited.then((how) => {
      reject(new Error(how));
    });
    try {
      return await reported;
    } finally {
      await browser.close();
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    await site.close();
    await profile.remove();
  }
}

/** What the page is told; JSON has no integers beyond 2^53. */
function startOf({ command, page }: PageMeasurement): object {
  const { requestParameters = {}, ...settings } = command.settings;
  const called = (settings.blsComposingModels ?? "")
    .split(",")
    .map((model) => model.replace(/:.*/, "").trim());
  return {
    settings,
    input: command.input,
    transport: page.transport,
    loadModels: [settings.modelName, ...called.filter((name) => name !== "")],
    parameters: Object.entries(requestParameters).map(([name, value]) =>
      typeof value === "bigint"
        ? { name, type: "int64", value: String(value) }
        : { name, type: "other", value },
    ),
  };
}
