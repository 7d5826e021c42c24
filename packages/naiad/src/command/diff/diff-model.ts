import type { InferenceClient, InferResult } from "@naiad/client";
import type { InferenceRequest, JsonValue } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { inferCallOf } from "../../perf/client-target.ts";
import type { DataSetOptions } from "../../perf/data-set.ts";
import { createDataSet } from "../../perf/data-set.ts";
import type { PerfModel } from "../../perf/perf-model.ts";
import { readPerfModel } from "../../perf/perf-model.ts";
import { seededRandom } from "../../perf/random.ts";
import { createRequestSource } from "../../perf/request-source.ts";
import type { Difference } from "./compare-json.ts";
import { compareJson } from "./compare-json.ts";
import { compareOutputs } from "./compare-outputs.ts";
import type { FaultRequest } from "./fault-requests.ts";
import { faultRequests } from "./fault-requests.ts";

/** A server and the two ways in which it is asked. */
export interface ComparedServer {
  readonly client: InferenceClient;
  /** The status and the error's text of a refused request. */
  refusal(request: FaultRequest): Promise<JsonValue>;
}

export interface DiffOptions {
  readonly modelName: string;
  readonly data: DataSetOptions;
  /** Requests, or steps of one sequence. */
  readonly requestCount: number;
  readonly tolerance: number;
}

type Pair = readonly [one: ComparedServer, other: ComparedServer];

/** Everything that two servers of one model say differently. Rejects where the first does not have it. */
export async function diffModel(servers: Pair, options: DiffOptions): Promise<readonly Difference[]> {
  const { modelName } = options;
  const metadata = await both(servers, ({ client }) => client.modelMetadata(modelName));
  const config = await both(servers, ({ client }) => client.modelConfig(modelName));
  const before = await both(servers, (server) => countsOf(server, modelName));
  const outputs = await diffInferences(servers, options);
  const after = await both(servers, (server) => countsOf(server, modelName));
  const refusals: Difference[] = [];
  for (const request of faultRequests(modelName)) {
    const answers = await both(servers, (server) => server.refusal(request));
    refusals.push(...differencesOf(`refusal of ${request.what}`, answers));
  }
  return [
    ...differencesOf("metadata", metadata),
    ...differencesOf("config", config),
    ...outputs,
    ...differencesOf("statistics", [grown(before[0], after[0]), grown(before[1], after[1])]),
    ...refusals,
  ];
}

async function diffInferences(servers: Pair, options: DiffOptions): Promise<readonly Difference[]> {
  const { data, modelName, requestCount, tolerance } = options;
  const [{ client }] = servers;
  const model = readPerfModel(await client.modelMetadata(modelName), await client.modelConfig(modelName), "");
  const source = createRequestSource({
    model,
    data: createDataSet(model, { ...data, shapes: shapesFor(model, data.shapes) }),
    // Far from the ids that others would take.
    sequences: { length: requestCount, lengthVariation: 0, idRange: { start: 990_000_001 } },
    parameters: {},
    random: seededRandom(1),
  }).slot();
  const differences: Difference[] = [];
  for (let index = 1; index <= requestCount; index += 1) {
    const { request } = source.next();
    const answers = await both(servers, (server) => answerOf(server.client, request));
    differences.push(...compareAnswers(`inference ${index}`, answers, tolerance));
  }
  return differences;
}

/** Those that are given for its inputs; a variable size that nobody gives is 1. */
function shapesFor({ inputs }: PerfModel, given: DataSetOptions["shapes"]): DataSetOptions["shapes"] {
  return Object.fromEntries(
    inputs.map(({ name, shape }) => [name, given[name] ?? shape.map((dim) => (dim < 0 ? 1 : dim))]),
  );
}

/** A decoupled model is refused over HTTP, which is compared like any other refusal. */
async function answerOf(
  client: InferenceClient,
  request: InferenceRequest,
): Promise<InferResult | InferenceError> {
  try {
    return await client.infer(inferCallOf(request));
  } catch (thrown) {
    if (thrown instanceof InferenceError) return thrown;
    throw thrown;
  }
}

function compareAnswers(
  path: string,
  [one, other]: readonly [InferResult | InferenceError, InferResult | InferenceError],
  tolerance: number,
): readonly Difference[] {
  if (!(one instanceof InferenceError) && !(other instanceof InferenceError)) {
    return compareOutputs(path, one, other, tolerance);
  }
  const text = (answer: InferResult | InferenceError): string =>
    answer instanceof InferenceError ? answer.message : "outputs";
  return text(one) === text(other) ? [] : [{ path, one: text(one), other: text(other) }];
}

/** What requests change by a known number. How many of them are executed together is the server's affair. */
type Counts = Readonly<Record<string, number>>;

async function countsOf({ client }: ComparedServer, modelName: string): Promise<Counts> {
  const { model_stats } = await client.modelStatistics(modelName);
  const sum = (value: (stats: (typeof model_stats)[number]) => number): number =>
    model_stats.reduce((total, stats) => total + value(stats), 0);
  return {
    inference_count: sum((stats) => stats.inference_count),
    success: sum(({ inference_stats }) => inference_stats.success.count),
    fail: sum(({ inference_stats }) => inference_stats.fail.count),
  };
}

function grown(before: Counts, after: Counts): Counts {
  return Object.fromEntries(
    Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]),
  );
}

async function both<Value>(
  [one, other]: Pair,
  ask: (server: ComparedServer) => Promise<Value>,
): Promise<readonly [Value, Value]> {
  return [await ask(one), await ask(other)];
}

/** Plain data of the protocol is JSON. */
function differencesOf(
  path: string,
  [one, other]: readonly [object | JsonValue, object | JsonValue],
): readonly Difference[] {
  return compareJson(path, one as JsonValue, other as JsonValue);
}
