import { createMemoryRepository } from "@naiad/testing";
import type { ExchangeHandler } from "@naiad/protocol";
import { differenceOf, toleranceFor } from "../compare-tensors.ts";
import { send, sendOk } from "../http-client.ts";
import { digest, startInProcessServer } from "../in-process-server.ts";
import type { SuiteReport } from "../report.ts";
import { createTally, reasonOf } from "../report.ts";
import type { InferBody } from "../v2-http.ts";
import { binaryInferRequest, hasJsonForm, jsonInferRequest, readInferResponse } from "../v2-http.ts";
import type { DataSet, NodeCase } from "./node-cases.ts";
import { clientShaped, hasPassed, nodeCases } from "./node-cases.ts";

/**
 * Every case as a model of a repository without a configuration: loaded, asked in binary and in JSON, unloaded, all over
 * HTTP. Whatever onnxruntime-web passes by itself and V2 can carry must pass.
 */
export async function runNodeSuite(folder: string): Promise<SuiteReport> {
  const tally = createTally();
  const repository = createMemoryRepository({}, { digest });
  const server = await startInProcessServer({ source: repository });
  let cases = 0;
  let expected = 0;
  let beyond = 0;
  let jsonRuns = 0;
  try {
    for await (const nodeCase of nodeCases(folder)) {
      const { name, onBareEngine, dataSets } = nodeCase;
      cases += 1;
      if (dataSets === undefined) {
        tally.leaveOut("types that V2 cannot carry", name, "count");
        continue;
      }
      if (hasPassed(nodeCase)) expected += 1;
      repository.put(name, { "1/model.onnx": nodeCase.model });
      const outcome = await runCase(server.handle, nodeCase, dataSets);
      repository.remove(name);
      jsonRuns += outcome.jsonRuns;
      if (outcome.problem === undefined) {
        tally.pass();
        if (!hasPassed(nodeCase)) beyond += 1;
      } else if (hasPassed(nodeCase)) tally.fail(name, outcome.problem);
      else tally.leaveOut(`onnxruntime-web alone: ${onBareEngine}`, name, "count");
    }
  } finally {
    await server.stop();
  }
  tally.remark(`${cases} cases; ${expected} that onnxruntime-web passes alone and V2 can carry`);
  tally.remark(`${beyond} passed that onnxruntime-web alone does not; ${jsonRuns} runs in JSON as well`);
  return tally.report();
}

interface CaseOutcome {
  readonly problem: string | undefined;
  readonly jsonRuns: number;
}

async function runCase(
  handle: ExchangeHandler,
  { name, onBareEngine }: NodeCase,
  dataSets: readonly DataSet[],
): Promise<CaseOutcome> {
  const tolerance = toleranceFor(onBareEngine);
  let jsonRuns = 0;
  const check = async (form: string, request: InferBody, { outputs }: DataSet): Promise<void> => {
    const answer = await sendOk(handle, "POST", `/v2/models/${name}/infer`, request);
    const difference = differenceOf(readInferResponse(answer), outputs, tolerance);
    if (difference !== undefined) throw new Error(`${form}: ${difference}`);
  };
  try {
    await sendOk(handle, "POST", `/v2/repository/models/${name}/load`);
    for (const data of dataSets) {
      const inputs = data.inputs.map(clientShaped);
      await check("binary", binaryInferRequest(inputs), data);
      const json = jsonInferRequest(inputs);
      if (json === undefined || !data.outputs.every(({ datatype }) => hasJsonForm(datatype))) continue;
      await check("JSON", json, data);
      jsonRuns += 1;
    }
    return { problem: undefined, jsonRuns };
  } catch (thrown) {
    return { problem: reasonOf(thrown), jsonRuns };
  } finally {
    await send(handle, "POST", `/v2/repository/models/${name}/unload`);
  }
}
