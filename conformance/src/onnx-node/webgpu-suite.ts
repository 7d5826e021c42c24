import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright";
import { chromium } from "playwright";
import { BROWSER_ARGUMENTS } from "../../../e2e/browser-arguments.ts";
import { buildPages, serveOrigin } from "../../../e2e/origin.ts";
import type {} from "../../../e2e/pages/test-page.ts";
import { ensureBrowser } from "../../../scripts/lib/browser.mjs";
import { differenceOf, toleranceFor } from "../compare-tensors.ts";
import type { SuiteReport } from "../report.ts";
import { createTally, reasonOf } from "../report.ts";
import { binaryInferRequest, readInferResponse } from "../v2-http.ts";
import type { DataSet, NodeCase } from "./node-cases.ts";
import { clientShaped, hasPassed, nodeCases } from "./node-cases.ts";
import { sampleByOperator } from "./sample-by-operator.ts";

const SAMPLE_SIZE = 300;

interface CarriedCase extends NodeCase {
  readonly dataSets: readonly DataSet[];
}

/**
 * A sample of the cases in Chromium on a software WebGPU adapter: loaded where the server puts them by itself, and compared
 * wherever that is. A case that the GPU cannot run must have moved to the CPU.
 */
export async function runWebGpuSuite(folder: string): Promise<SuiteReport> {
  const tally = createTally();
  const sample = sampleByOperator(await carriedCases(folder), SAMPLE_SIZE);
  const directory = await mkdtemp(join(tmpdir(), "naiad-webgpu-"));
  let onGpu = 0;
  let moved = 0;
  try {
    for (const { name, model } of sample) {
      await mkdir(join(directory, name, "1"), { recursive: true });
      await writeFile(join(directory, name, "1/model.onnx"), model);
    }
    await withPage(directory, async (page) => {
      for (const one of sample) {
        const outcome = await runInPage(page, one);
        if (outcome.provider === "webgpu") onGpu += 1;
        else if (outcome.provider === "wasm") moved += 1;
        if (outcome.problem === undefined) tally.pass();
        else tally.fail(`${one.name} on ${outcome.provider}`, outcome.problem);
      }
    });
  } finally {
    await rm(directory, { recursive: true });
  }
  tally.remark(`${sample.length} cases: ${onGpu} ran on WebGPU, ${moved} moved to WASM by themselves`);
  return tally.report();
}

async function carriedCases(folder: string): Promise<readonly CarriedCase[]> {
  const cases: CarriedCase[] = [];
  for await (const one of nodeCases(folder)) {
    const { dataSets } = one;
    if (dataSets !== undefined && hasPassed(one)) cases.push({ ...one, dataSets });
  }
  return cases;
}

async function withPage(models: string, use: (page: Page) => Promise<void>): Promise<void> {
  await buildPages();
  const origin = await serveOrigin({ models });
  const browser = await chromium.launch({ executablePath: await ensureBrowser(), args: BROWSER_ARGUMENTS });
  try {
    const page = await browser.newPage();
    await page.goto(origin.url);
    await page.waitForFunction(() => "test" in window);
    await page.evaluate(async () => {
      await window.test.start({ allowSoftwareGpu: true });
    });
    await use(page);
  } finally {
    await browser.close();
    await origin.close();
  }
}

interface PageOutcome {
  readonly provider: string;
  readonly problem: string | undefined;
}

async function runInPage(page: Page, { name, onBareEngine, dataSets }: CarriedCase): Promise<PageOutcome> {
  const requests = dataSets.map(({ inputs }) => {
    const { headers, body } = binaryInferRequest(inputs.map(clientShaped));
    return { headers: headers.map(([key, value]): [string, string] => [key, value]), body: [...body] };
  });
  const answers = await page.evaluate(inferAll, { name, requests });
  const { provider } = answers;
  if ("error" in answers) return { provider, problem: answers.error };
  try {
    for (const [index, { headers, body }] of answers.answers.entries()) {
      const outputs = readInferResponse({ headers, body: Uint8Array.from(body) });
      const difference = differenceOf(outputs, dataSets[index]?.outputs ?? [], toleranceFor(onBareEngine));
      if (difference !== undefined) return { provider, problem: difference };
    }
    return { provider, problem: undefined };
  } catch (thrown) {
    return { provider, problem: reasonOf(thrown) };
  }
}

interface PageRequest {
  readonly headers: [string, string][];
  readonly body: readonly number[];
}

type PageAnswers =
  | { readonly provider: string; readonly answers: readonly PageRequest[] }
  | { readonly provider: string; readonly error: string };

/** Runs in the page. */
async function inferAll({
  name,
  requests,
}: {
  readonly name: string;
  readonly requests: readonly PageRequest[];
}): Promise<PageAnswers> {
  const loaded = await fetch(`/v2/repository/models/${name}/load`, { method: "POST" });
  if (!loaded.ok) return { provider: "nothing", error: await loaded.text() };
  const instances = await window.test.server.instances();
  const provider =
    instances.find(({ modelName }) => modelName === name)?.device?.executionProvider ?? "nothing";
  try {
    const answers: PageRequest[] = [];
    for (const { headers, body } of requests) {
      const answer = await fetch(`/v2/models/${name}/infer`, {
        method: "POST",
        headers,
        body: Uint8Array.from(body),
      });
      if (!answer.ok) return { provider, error: await answer.text() };
      answers.push({
        headers: [...answer.headers],
        body: [...new Uint8Array(await answer.arrayBuffer())],
      });
    }
    return { provider, answers };
  } finally {
    await fetch(`/v2/repository/models/${name}/unload`, { method: "POST" });
  }
}
