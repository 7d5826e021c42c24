import type { JsonObject, JsonValue, Tensor } from "@naiad/protocol";
import type { FakeAnswer, FakeExecution, MemoryModel } from "@naiad/testing";
import { ensembleModel } from "@naiad/testing";
import type { HttpBench, HttpBenchOptions } from "./http-bench.ts";
import { createHttpBench } from "./http-bench.ts";
import { fakeModel } from "./models.ts";

type InstanceRequest = FakeExecution["requests"][number];
type InstanceOutcome = NonNullable<Extract<FakeAnswer, { readonly kind: "complete" }>["outcomes"]>[number];

/** Sum and difference, as in Triton's models of the kind. */
export function addSub(maxBatchSize = 8): MemoryModel {
  return fakeModel({
    inputs: "INPUT0 INT32 [2]; INPUT1 INT32 [2]",
    outputs: "OUTPUT0 INT32 [2]; OUTPUT1 INT32 [2]",
    maxBatchSize,
  });
}

/** (a + b) + (a - b) and (a + b) - (a - b): twice each input. */
export const TWICE: Readonly<Record<string, MemoryModel>> = {
  add_sub: addSub(),
  twice: ensembleModel({
    inputs: "A INT32 [2]; B INT32 [2]",
    outputs: "TWICE_A INT32 [2]; TWICE_B INT32 [2]",
    maxBatchSize: 8,
    steps: [
      "add_sub: INPUT0=A, INPUT1=B > OUTPUT0=sum, OUTPUT1=difference",
      "add_sub: INPUT0=sum, INPUT1=difference > OUTPUT0=TWICE_A, OUTPUT1=TWICE_B",
    ],
  }),
};

const elements = (tensor: Tensor | undefined): Int32Array =>
  tensor?.kind === "bytes" ? new Int32Array(tensor.bytes.slice().buffer) : new Int32Array();

export function computeAddSub(request: InstanceRequest): InstanceOutcome {
  const [first, second] = request.inputs;
  const a = elements(first);
  const b = elements(second);
  return {
    kind: "response",
    parameters: {},
    outputs: request.outputs.map((name): Tensor => {
      const result = a.map((value, index) => value + (name === "OUTPUT0" ? 1 : -1) * (b[index] ?? 0));
      return {
        kind: "bytes",
        name,
        datatype: "INT32",
        shape: first?.shape ?? [],
        bytes: new Uint8Array(result.buffer),
      };
    }),
  };
}

export const addSubBackend = {
  onExecute: ({ requests, instanceName }: FakeExecution): FakeAnswer =>
    instanceName.startsWith("add_sub")
      ? {
          kind: "complete",
          outcomes: requests.map(computeAddSub),
          times: { computeInputNs: 1, computeInferNs: 20, computeOutputNs: 300 },
        }
      : { kind: "complete" },
};

export const start = (
  models: Readonly<Record<string, MemoryModel>>,
  more: HttpBenchOptions = {},
): Promise<HttpBench> => createHttpBench({ models, backend: addSubBackend, ...more });

export function tensor(name: string, shape: readonly number[], data: readonly number[]): JsonObject {
  return { name, datatype: "INT32", shape, data };
}

export const A_AND_B = { inputs: [tensor("A", [1, 2], [1, 2]), tensor("B", [1, 2], [10, 20])] };

export function outputsOf(json: JsonValue): Readonly<Record<string, JsonValue>> {
  const { outputs } = json as unknown as { readonly outputs: readonly { name: string; data: JsonValue }[] };
  return Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
}

export interface Statistics {
  readonly inference_count: number;
  readonly execution_count: number;
  readonly inference_stats: Readonly<Record<string, { readonly count: number; readonly ns: number }>>;
}

export async function statistics({ get }: HttpBench, model: string): Promise<Statistics> {
  const { json } = await get(`/v2/models/${model}/stats`);
  const [found] = (json as unknown as { readonly model_stats: readonly Statistics[] }).model_stats;
  if (found === undefined) throw new Error(`no statistics of '${model}'`);
  return found;
}
