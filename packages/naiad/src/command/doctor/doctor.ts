import { join } from "node:path";
import type { Diagnosis } from "../../sdk/diagnose.ts";
import type { PlatformFinding } from "../../sdk/judge-platform.ts";
import { ownDirectories } from "../../site/package-directories.ts";
import { type CommandIo, type ExitCode, UsageError } from "../command-io.ts";
import { parseCommandLine } from "../parse-command-line.ts";
import { browserArguments } from "../serve/browser/browser-arguments.ts";
import { requireBrowser } from "../serve/browser/find-browser.ts";
import { hasGpu } from "../serve/browser/has-gpu.ts";
import type { BrowserProfile } from "../serve/browser/launch-browser.ts";
import { createBrowserProfile } from "../serve/browser/launch-browser.ts";
import { judgeNode, nodeFacts } from "./diagnose-node.ts";
import { openDoctorSite } from "./doctor-site.ts";

export const DOCTOR_SUMMARY: string = "Tell what the browser of this machine, or Node.js, can do for models";

const HELP = `${DOCTOR_SUMMARY}.

Usage: naiad doctor [options]

Starts the browser that 'naiad serve' would start, looks around in a page, and tells: WebAssembly, isolation, service worker,
GPU adapters with their limits and FP16, storage, resolution of timers. diagnose() of the SDK tells the same of the page that
calls it. With --runtime node it tells what 'naiad serve --runtime node' would find, and starts no browser.

Options:
      --runtime browser|node  What to look at (default: browser)
      --browser FILE          Chrome or Chromium to use (default: NAIAD_BROWSER, or the first that is found)
      --gpu auto|off|software  WebGPU: where there is a GPU, never, or in software (default: auto)
      --no-sandbox            Start the browser without its sandbox, which root needs
      --timeout-secs N        How long to wait for the browser (default: 60)
      --json                  Print everything as one JSON object
  -h, --help                  Show this help

Exit code: 0, or 1 when something does not work.`;

const RUNTIMES = ["browser", "node"] as const;
const GPU_MODES = ["auto", "off", "software"] as const;
const BROWSER_OPTIONS = ["browser", "gpu", "no-sandbox", "timeout-secs"] as const;

/** The `doctor` command. */
export async function doctor(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { positionals, values } = parseCommandLine(argv, {
    runtime: { type: "string" },
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
  const runtime = RUNTIMES.find((one) => one === (values.runtime ?? "browser"));
  if (runtime === undefined) {
    throw new UsageError(
      `--runtime must be one of ${RUNTIMES.join(", ")}, but it is '${values.runtime ?? ""}'`,
    );
  }
  if (runtime === "node") {
    const strange = BROWSER_OPTIONS.find((name) => values[name] !== undefined);
    if (strange !== undefined) throw new UsageError(`--${strange} is about a browser, and --runtime is node`);
    return tell(await diagnoseNode(), { json: values.json === true, io });
  }
  const gpu = GPU_MODES.find((mode) => mode === (values.gpu ?? "auto"));
  if (gpu === undefined)
    throw new UsageError(`--gpu must be one of ${GPU_MODES.join(", ")}, but it is '${values.gpu ?? ""}'`);
  const timeoutText = values["timeout-secs"] ?? "60";
  if (!/^[1-9]\d{0,5}$/.test(timeoutText)) {
    throw new UsageError(`--timeout-secs must be a whole number above 0, but it is '${timeoutText}'`);
  }
  const path = requireBrowser(values.browser, process.env);
  const sandbox = values["no-sandbox"] === true ? "off" : "on";
  const profile = await createBrowserProfile({
    path,
    arguments: browserArguments(
      { path, gpu, sandbox, arguments: [] },
      { platform: process.platform, hasGpu: hasGpu(process.platform) },
    ),
    onOutput: () => undefined,
  });
  try {
    const diagnosis = await diagnosisOf(profile, Number(timeoutText) * 1000);
    return tell(
      { head: `${path}: ${diagnosis.userAgent}`, facts: diagnosis, findings: diagnosis.findings },
      { json: values.json === true, io },
    );
  } finally {
    await profile.remove();
  }
}

interface Told {
  /** What was looked at. */
  readonly head: string;
  readonly facts: object;
  readonly findings: readonly PlatformFinding[];
}

async function diagnoseNode(): Promise<Told> {
  const facts = await nodeFacts(ownDirectories().ort);
  return { head: `${process.execPath}: Node.js ${facts.nodeVersion}`, facts, findings: judgeNode(facts) };
}

function tell(
  { facts, findings, head }: Told,
  { io, json }: { readonly io: CommandIo; readonly json: boolean },
): ExitCode {
  const lines = json
    ? [JSON.stringify({ ...facts, findings }, undefined, 2)]
    : [head, ...findingLines(findings)];
  for (const line of lines) io.out(line);
  return findings.some(({ severity }) => severity === "problem") ? 1 : 0;
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
export function findingLines(findings: readonly PlatformFinding[]): readonly string[] {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  return findings.map(
    ({ severity, subject, text }) => `  ${MARKS[severity]}  ${subject.padEnd(width)}  ${text}`,
  );
}
