import { existsSync } from "node:fs";
import { join } from "node:path";
import { runBatchedSuite } from "./batched/batched-suite.ts";
import { readConfigCorpus } from "./configurations/config-corpus.ts";
import { runExpectedSuite } from "./configurations/expected-suite.ts";
import { runGoldenSuite } from "./configurations/golden-suite.ts";
import { runExampleRepositorySuite } from "./example-repository-suite.ts";
import { runLanguageModelSuite } from "./language-model/language-model-suite.ts";
import { runNodeSuite } from "./onnx-node/node-suite.ts";
import { runWebGpuSuite } from "./onnx-node/webgpu-suite.ts";
import { runOracleSuite } from "./oracle/oracle-suite.ts";
import type { SuiteReport } from "./report.ts";
import { reasonOf } from "./report.ts";
import type { MissingSuite, TimedReport } from "./report-table.ts";
import { reportTable } from "./report-table.ts";

export interface ConformanceCounts {
  readonly passed: number;
  readonly failed: number;
}

export interface ConformanceOptions {
  /** Folder with `model-configs/`, `onnx-node/` and so on; what it lacks is named in the table. */
  readonly folder: string;
  readonly print: (text: string) => void;
  /** Only suites whose name contains one of these words. */
  readonly only?: readonly string[];
}

interface Suite {
  readonly name: string;
  /** Path in the folder, or `undefined` for a suite that brings its own material. */
  readonly needs: string | undefined;
  run(folder: string): SuiteReport | Promise<SuiteReport>;
}

const SUITES: readonly Suite[] = [
  {
    name: "configurations as protobuf reads them",
    needs: "model-configs/golden",
    run: (folder) => runGoldenSuite(readConfigCorpus(folder)),
  },
  {
    name: "configurations as Triton takes them",
    needs: "model-configs/expected",
    run: (folder) => runExpectedSuite(readConfigCorpus(folder)),
  },
  { name: "recordings of a real Triton", needs: undefined, run: runOracleSuite },
  {
    name: "Triton's example repository",
    needs: "triton-example-repository",
    run: runExampleRepositorySuite,
  },
  { name: "batched sequence models", needs: "models/batched", run: runBatchedSuite },
  { name: "a language model", needs: "models/stories260K", run: runLanguageModelSuite },
  { name: "ONNX node tests on WASM", needs: "onnx-node", run: runNodeSuite },
  { name: "ONNX node tests on WebGPU", needs: "onnx-node", run: runWebGpuSuite },
];

/** Runs every suite and prints one table. Never rejects for what a suite finds or throws: that is a failure of it. */
export async function runConformance({
  folder,
  print,
  only,
}: ConformanceOptions): Promise<ConformanceCounts> {
  const reports: (TimedReport | MissingSuite)[] = [];
  for (const suite of SUITES) {
    if (only !== undefined && !only.some((word) => suite.name.includes(word))) continue;
    if (suite.needs !== undefined && !existsSync(join(folder, suite.needs))) {
      reports.push({ suite: suite.name, missing: suite.needs });
      continue;
    }
    print(`running: ${suite.name}`);
    const started = performance.now();
    const report = await runOne(suite, folder);
    reports.push({ ...report, suite: suite.name, seconds: (performance.now() - started) / 1000 });
  }
  print(`\n${reportTable(reports)}\n`);
  const done = reports.flatMap((report) => ("missing" in report ? [] : [report]));
  return {
    passed: done.reduce((sum, { passed }) => sum + passed, 0),
    failed: done.reduce((sum, { failures }) => sum + failures.length, 0),
  };
}

async function runOne(suite: Suite, folder: string): Promise<SuiteReport> {
  try {
    return await suite.run(folder);
  } catch (thrown) {
    const failures = [{ name: "the suite itself", reason: reasonOf(thrown) }];
    return { passed: 0, failures, leftOut: [], remarks: [] };
  }
}
