/** `npm test`: every gate, then every test runner; all of them run even after a failure, and the end says what failed. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ensureBrowser } from "./lib/browser.mjs";
import { ROOT, run, runTsx } from "./lib/exec.mjs";

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

interface Step {
  readonly name: string;
  /** Resolves with the counts of a runner, or with nothing where the step is one check. */
  run(): Promise<Counts | undefined>;
}

const RESULTS = join(ROOT, "test-results");
const COUNTS = process.env["NAIAD_RESULTS"] ?? join(RESULTS, "counts");

function gate(name: string, ...command: [script: string, ...args: string[]]): Step {
  return {
    name,
    run: async () => {
      const [script, ...args] = command;
      await (script.endsWith(".ts") ? runTsx(script, args) : run("node", [script, ...args]));
      return undefined;
    },
  };
}

/** Type-aware rules hold the programs of many projects at once, which is more than Node's usual heap. */
function lint(name: string, ...args: readonly string[]): Step {
  return {
    name,
    run: async () => {
      const cache = ["--cache", "--cache-location", `.cache/eslint ${name}`];
      await run("node", ["node_modules/eslint/bin/eslint.js", ...cache, ...args], {
        env: { NODE_OPTIONS: "--max-old-space-size=8192" },
      });
      return undefined;
    },
  };
}

const STEPS: readonly Step[] = [
  gate("generated code", "scripts/check-generated.ts"),
  gate("sample models", "scripts/prepare-models.ts"),
  // The playground, the end-to-end tests and this configuration use the package as its users do: built.
  gate("build", "scripts/build-naiad.ts"),
  gate("types", "node_modules/typescript/bin/tsc", "-b"),
  gate("floors", "scripts/check-floors.ts"),
  gate("format", "node_modules/prettier/bin/prettier.cjs", "--check", "--log-level", "warn", "."),
  lint("lint of packages", "packages"),
  lint("lint of the rest", ".", "--ignore-pattern", "packages/"),
  gate("dead code", "node_modules/knip/bin/knip.js", "--no-config-hints"),
  gate("package", "scripts/check-package.ts"),
  { name: "unit tests", run: unitTests },
  { name: "browser and end-to-end tests", run: endToEndTests },
];

async function unitTests(): Promise<Counts> {
  const file = join(RESULTS, "vitest.json");
  await run("node", [
    "node_modules/vitest/vitest.mjs",
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${file}`,
  ]).catch(() => undefined);
  const report = JSON.parse(await readFile(file, "utf8")) as {
    readonly numPassedTests: number;
    readonly numFailedTests: number;
    readonly success: boolean;
  };
  // A file that cannot even be collected fails the run without a failed test.
  const broken = !report.success && report.numFailedTests === 0 ? 1 : 0;
  return { passed: report.numPassedTests, failed: report.numFailedTests + broken };
}

async function endToEndTests(): Promise<Counts> {
  const browser = await ensureBrowser();
  const file = join(RESULTS, "playwright.json");
  await run("node", ["node_modules/playwright/cli.js", "test", "--config", "e2e/playwright.config.ts"], {
    env: { NAIAD_BROWSER: browser, PLAYWRIGHT_JSON_OUTPUT_FILE: file },
  }).catch(() => undefined);
  const { stats } = JSON.parse(await readFile(file, "utf8")) as {
    readonly stats: { readonly expected: number; readonly unexpected: number; readonly flaky: number };
  };
  return { passed: stats.expected + stats.flaky, failed: stats.unexpected };
}

async function runStep(step: Step): Promise<Counts> {
  const started = performance.now();
  console.log(`\n=== ${step.name}`);
  const counts = await step.run().then(
    (result) => result ?? { passed: 1, failed: 0 },
    (error: unknown) => {
      console.error(error instanceof Error ? error.message : String(error));
      return { passed: 0, failed: 1 };
    },
  );
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`--- ${step.name}: ${counts.passed} passed, ${counts.failed} failed in ${seconds} s`);
  await writeFile(join(COUNTS, `${step.name.replaceAll(/\W+/g, "-")}.json`), JSON.stringify(counts));
  return counts;
}

const { values } = parseArgs({ options: { only: { type: "string", multiple: true } } });
const chosen = STEPS.filter((step) => values.only?.some((word) => step.name.includes(word)) ?? true);
await rm(RESULTS, { recursive: true, force: true });
await mkdir(COUNTS, { recursive: true });
const failures: string[] = [];
let passed = 0;
let failed = 0;
for (const step of chosen) {
  const counts = await runStep(step);
  passed += counts.passed;
  failed += counts.failed;
  if (counts.failed > 0) failures.push(step.name);
}
console.log(failures.length === 0 ? "\neverything passed" : `\nfailed: ${failures.join(", ")}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
