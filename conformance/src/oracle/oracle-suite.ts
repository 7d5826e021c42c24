import { readFile } from "node:fs/promises";
import { headerValue } from "@naiad/protocol";
import { createMemoryRepository } from "@naiad/testing";
import type { InProcessServer } from "../in-process-server.ts";
import { digest, startInProcessServer } from "../in-process-server.ts";
import { send } from "../http-client.ts";
import type { SuiteReport, Tally } from "../report.ts";
import { createTally } from "../report.ts";
import type { ComparedAnswers, KnownDifferences } from "./known-differences.ts";
import { createKnownDifferences } from "./known-differences.ts";
import { modelsOf } from "./oracle-models.ts";
import type { OracleRequest, RecordedAnswer, Recording, Scenario } from "./oracle-request.ts";
import { meaningfulHeaders, recordedBody } from "./oracle-request.ts";
import { programBackend } from "./program-backend.ts";
import { SCENARIOS } from "./scenarios/scenarios.ts";

/** Asks the server under test what a real Triton was asked, and compares the answers letter by letter. */
export async function runOracleSuite(): Promise<SuiteReport> {
  const tally = createTally();
  const differences = createKnownDifferences();
  const servers = new Set<string>();
  for (const scenario of SCENARIOS) {
    const recording = await readRecording(scenario.name);
    servers.add(recording.server);
    await replay(scenario, recording, { tally, differences });
  }
  for (const reason of differences.unused()) tally.fail(reason, "no answer differs so any more");
  tally.remark(`recorded from Triton ${[...servers].join(", ")}, CPU only, Python backend`);
  return tally.report();
}

async function readRecording(scenario: string): Promise<Recording> {
  const file = new URL(`../../golden/${scenario}.json`, import.meta.url);
  return JSON.parse(await readFile(file, "utf8")) as Recording;
}

interface Judgement {
  readonly tally: Tally;
  readonly differences: KnownDifferences;
}

async function replay(scenario: Scenario, { answers }: Recording, judgement: Judgement): Promise<void> {
  const server = await startInProcessServer({
    source: createMemoryRepository(modelsOf(scenario), { digest }),
    options:
      scenario.control === "none"
        ? { modelControlMode: "none" }
        : { modelControlMode: "explicit", loadModels: scenario.loadModels },
    backends: [programBackend],
  });
  try {
    for (const [index, request] of scenario.requests.entries()) {
      const recorded = answers[index];
      if (recorded?.name !== request.name)
        throw new Error(`golden/${scenario.name}.json is of other requests`);
      const answer = await askServer(server, request);
      compare({ scenario: scenario.name, recorded, answer }, judgement);
    }
  } finally {
    await server.stop();
  }
}

async function askServer(
  { handle }: InProcessServer,
  { name, method, target, headers, body }: OracleRequest,
): Promise<RecordedAnswer> {
  const answer = await send(handle, method, target, {
    headers: headers.map(([key, value]) => [key.toLowerCase(), value]),
    body: new Uint8Array(body),
  });
  return {
    name,
    request: target,
    status: answer.status,
    headers: meaningfulHeaders(answer.headers),
    body: recordedBody(answer.body, headerValue(answer.headers, "content-encoding")),
  };
}

function compare(compared: ComparedAnswers, { tally, differences }: Judgement): void {
  const { scenario, recorded, answer } = compared;
  const name = `${scenario}: ${recorded.name}`;
  const wanted = comparable(recorded);
  const got = comparable(answer);
  if (wanted === got) {
    tally.pass();
    return;
  }
  const reason = differences.reasonOf(compared);
  if (reason === undefined) tally.fail(name, `answered ${got} where Triton answers ${wanted}`);
  else tally.leaveOut(reason, name.slice(0, 160), "count");
}

/**
 * One text, without what is different at each run and on each machine, and without the Content-Type of errors: Triton
 * sends most of them as its web server's default, `text/plain`, though they are JSON.
 */
function comparable({ status, headers, body }: RecordedAnswer): string {
  const content =
    "text" in body ? body.text.replace(/"(ns|last_inference)":\d+/g, '"$1":0') : `base64 ${body.base64}`;
  const kept = Object.entries(headers).filter(([name]) => status < 400 || name !== "content-type");
  return [status, ...kept.sort().map((pair) => pair.join(": ")), content].join(" | ");
}
