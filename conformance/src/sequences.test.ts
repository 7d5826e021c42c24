import { createMemoryRepository } from "@naiad/testing";
import { sequenceModels } from "@naiad/testing/fixture-models";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { send, sendOk, textOf } from "./http-client.ts";
import type { InProcessServer } from "./in-process-server.ts";
import { digest, startInProcessServer } from "./in-process-server.ts";

interface Answer {
  readonly outputs: readonly { readonly name: string; readonly data: readonly unknown[] }[];
}

interface Step {
  readonly model: string;
  readonly input: number;
  readonly id: number;
  readonly start?: boolean;
  readonly end?: boolean;
}

let server: InProcessServer;

beforeAll(async () => {
  const models = Object.fromEntries(sequenceModels().map(({ name, files }) => [name, files]));
  server = await startInProcessServer({ source: createMemoryRepository(models, { digest }) });
  for (const name of Object.keys(models)) {
    await sendOk(server.handle, "POST", `/v2/repository/models/${name}/load`);
  }
});

afterAll(async () => {
  await server.stop();
});

function body({ model, input, id, start = false, end = false }: Step): Uint8Array<ArrayBuffer> {
  const datatype = model === "sequence_concat" ? "FP32" : "INT32";
  const request = {
    parameters: { sequence_id: id, sequence_start: start, sequence_end: end },
    inputs: [{ name: "INPUT", datatype, shape: [1, 1], data: [input] }],
  };
  return new TextEncoder().encode(JSON.stringify(request));
}

async function infer(step: Step): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const sent = await sendOk(server.handle, "POST", `/v2/models/${step.model}/infer`, { body: body(step) });
  const { outputs } = JSON.parse(textOf(sent)) as Answer;
  return Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
}

async function batchSizes(model: string): Promise<ReadonlyMap<number, number>> {
  const text = textOf(await sendOk(server.handle, "GET", `/v2/models/${model}/stats`));
  const { model_stats: stats } = JSON.parse(text) as {
    readonly model_stats: readonly {
      readonly batch_stats: readonly {
        readonly batch_size: number;
        readonly compute_infer: { readonly count: number };
      }[];
    }[];
  };
  const batches = stats.flatMap(({ batch_stats: sizes }) => sizes);
  return new Map(batches.map(({ batch_size: size, compute_infer: { count } }) => [size, count]));
}

describe("sequences in ONNX Runtime", () => {
  it.each(["sequence_sum", "sequence_sum_oldest"])(
    "keep their states apart in shared batches of %s, also while some wait for a slot",
    async (model) => {
      const ids = [1, 2, 3, 4, 5, 6];
      await Promise.all(
        ids.map(async (id) => {
          let sum = 10;
          for (let step = 1; step <= 8; step += 1) {
            sum += id * step;
            const answer = await infer({ model, id, input: id * step, start: step === 1, end: step === 8 });
            expect(answer).toEqual({ SUM: [sum], ID: [id] });
          }
        }),
      );
      const sizes = await batchSizes(model);
      expect([...sizes.keys()].some((size) => size > 1)).toBe(true);
      expect(Math.max(...sizes.keys())).toBeLessThanOrEqual(4);
    },
  );

  it("answer a burst in order", async () => {
    const model = "sequence_sum";
    const answers = await Promise.all(
      [1, 2, 3, 4, 5].map((input) => infer({ model, id: 9, input, start: input === 1, end: input === 5 })),
    );
    expect(answers.map(({ SUM }) => SUM)).toEqual([[11], [13], [16], [20], [25]]);
  });

  it("have a state that grows and is an output too, and see where they start and end", async () => {
    const model = "sequence_concat";
    const steps = async (id: number, inputs: readonly number[]): Promise<readonly unknown[]> => {
      const answers: unknown[] = [];
      for (const [index, input] of inputs.entries()) {
        answers.push(await infer({ model, id, input, start: index === 0, end: index === inputs.length - 1 }));
      }
      return answers;
    };
    const [first, second] = await Promise.all([steps(1, [5, 6, 7]), steps(2, [8, 9])]);
    expect(first).toEqual([
      { ALL: [0, 5], STARTS: [1], ENDS: [false] },
      { ALL: [0, 5, 6], STARTS: [0], ENDS: [false] },
      { ALL: [0, 5, 6, 7], STARTS: [0], ENDS: [true] },
    ]);
    expect(second).toEqual([
      { ALL: [0, 8], STARTS: [1], ENDS: [false] },
      { ALL: [0, 8, 9], STARTS: [0], ENDS: [true] },
    ]);
  });

  it("are refused in the middle, and where a request has rows, controls or states of its own", async () => {
    const refused = async (model: string, request: object): Promise<string> => {
      const bytes = new TextEncoder().encode(JSON.stringify(request));
      const sent = await send(server.handle, "POST", `/v2/models/${model}/infer`, { body: bytes });
      return `${sent.status} ${textOf(sent)}`;
    };
    const parameters = { sequence_id: 77, sequence_start: true };
    const input = { name: "INPUT", datatype: "INT32", shape: [1, 1], data: [1] };
    expect(await refused("sequence_sum", { parameters: { sequence_id: 77 }, inputs: [input] })).toBe(
      '400 {"error":"inference request for sequence 77 to model \'sequence_sum\' must specify the START flag on the ' +
        'first request of the sequence"}',
    );
    const rows = { ...input, shape: [2, 1], data: [1, 2] };
    expect(await refused("sequence_sum", { parameters, inputs: [rows] })).toContain(
      "must specify batch-size 1 due to requirements of sequence batcher",
    );
    expect(
      await refused("sequence_sum", { parameters, inputs: [input, { ...input, name: "READY" }] }),
    ).toContain("400");
    expect(await refused("sequence_sum", { parameters, inputs: [{ ...input, name: "STATE" }] })).toContain(
      "400",
    );
  });
});
