import { join } from "node:path";
import type { Diagnosis } from "../../sdk/diagnose.ts";
import { ownDirectories } from "../../site/package-directories.ts";
import { type CommandIo, type ExitCode, UsageError } from "../command-io.ts";
import { parseCommandLine } from "../parse-command-line.ts";
import { browserArguments } from "../serve/browser/browser-arguments.ts";
import { findBrowser } from "../serve/browser/find-browser.ts";
import { hasGpu } from "../serve/browser/has-gpu.ts";
import type { BrowserProfile } from "../serve/browser/launch-browser.ts";
import { createBrowserProfile } from "../serve/browser/launch-browser.ts";
import { openDoctorSite } from "./doctor-site.ts";

export const DOCTOR_SUMMARY: string = "Tell what the browser of this machine can do for models";

const HELP = `${DOCTOR_SUMMARY}.

Usage: naiad doctor [options]

Starts the browser that 'naiad serve' would start, looks around in a page, and tells: WebAssembly, isolation, service worker,
GPU adapters with their limits and FP16, storage, resolution of timers. diagnose() of the SDK tells the same of the page that
calls it.

Options:
      --browser FILE          Chrome or Chromium to use (default: NAIAD_BROWSER, or the first that is found)
      --gpu auto|off|software  WebGPU: where there is a GPU, never, or in software (default: auto)
      --no-sandbox            Start the browser without its sandbox, which root needs
      --timeout-secs N        How long to wait for the browser (default: 60)
      --json                  Print everything as one JSON object
  -h, --help                  Show this help

Exit code: 0, or 1 when something does not work.`;

const GPU_MODES = ["auto", "off", "software"] as const;

/** The `doctor` command. */
export async function doctor(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { positionals, values } = parseCommandLine(argv, {
    browser: { type: "string" },
    gpu: { type: "string" },
    "no-sandbox": { type: "boolean" },
    "timeout-secs": { type: "string" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) {
    io.out(HELP);
    return 0;
  }
  const [extra] = positionals;
  if (extra !== undefined) throw new UsageError(`'${extra}' is no option`);
  const gpu = GPU_MODES.find((mode) => mode === (values.gpu ?? "auto"));
  if (gpu === undefined)
    throw new UsageError(`--gpu must be one of ${GPU_MODES.join(", ")}, but it is '${values.gpu ?? ""}'`);
  const timeoutText = values["timeout-secs"] ?? "60";
  if (!/^[1-9]\d{0,5}$/.test(timeoutText)) {
    throw new UsageError(`--timeout-secs must be a whole number above 0, but it is '${timeoutText}'`);
  }
  const path = values.browser ?? findBrowser(process.env);
  if (path === undefined) {
    throw new Error(
      "no Chrome or Chromium found: install one, or name it with --browser or in NAIAD_BROWSER",
    );
  }
  const sandbox = values["no-sandbox"] === true ? "off" : "on";
  const profile = await createBrowserProfile({
    path,
    arguments: browserArguments(
      { path, gpu, sandbox, arguments: [], hangSecs: 0 },
      { platform: process.platform, hasGpu: hasGpu(process.platform) },
    ),
    onOutput: () => undefined,
  });
  try {
    const diagnosis = await diagnosisOf(profile, Number(timeoutText) * 1000);
    for (const line of values.json === true
      ? [JSON.stringify(diagnosis, undefined, 2)]
      : diagnosisLines(path, diagnosis)) {
      io.out(line);
    }
    return diagnosis.findings.some(({ severity }) => severity === "problem") ? 1 : 0;
  } finally {
    await profile.remove();
  }
}

async function diagnosisOf(profile: BrowserProfile, timeoutMs: number): Promise<Diagnosis> {
  const site = await openDoctorSite(join(ownDirectories().dist, "index.js"));
  try {
    const browser = await profile.open(site.url);
    const late = new AbortController();
    const timer = setTimeout(() => {
      late.abort(new Error(`the browser has not answered within ${timeoutMs / 1000} s`));
    }, timeoutMs);
    void browser.exited.then((how) => {
      late.abort(new Error(how));
    });
    try {
      return await site.diagnosis(late.signal);
    } finally {
      clearTimeout(timer);
      await browser.close();
    }
  } finally {
    await site.close();
  }
}

const MARKS = { good: "ok     ", limit: "limit  ", problem: "PROBLEM" } as const;

/** A line for each finding, problems with the rest. */
export function diagnosisLines(path: string, { findings, userAgent }: Diagnosis): readonly string[] {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  return [
    `${path}: ${userAgent}`,
    ...findings.map(
      ({ severity, subject, text }) => `  ${MARKS[severity]}  ${subject.padEnd(width)}  ${text}`,
    ),
  ];
}
