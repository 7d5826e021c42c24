import { join } from "node:path";
import type { ExchangeHandler } from "@naiad/protocol";
import { createMemoryRepository } from "@naiad/testing";
import { sendOk, textOf } from "./http-client.ts";
import { digest, startInProcessServer } from "./in-process-server.ts";
import { readModelRepository } from "./model-folder.ts";
import type { SuiteReport } from "./report.ts";
import { createTally, reasonOf } from "./report.ts";

interface ExampleRequest {
  readonly parameters?: object;
  readonly inputs: Readonly<Record<string, readonly (number | string)[]>>;
  readonly datatype: string;
  readonly outputs: Readonly<Record<string, readonly (number | string)[]>>;
}

const SIXTEEN = Array.from({ length: 16 }, (_, index) => index);
const ONES = SIXTEEN.map(() => 1);
const texts = (values: readonly number[]): readonly string[] => values.map(String);

function sumAndDifference(
  datatype: string,
  written: (values: readonly number[]) => readonly (number | string)[],
): ExampleRequest {
  return {
    datatype,
    inputs: { INPUT0: written(SIXTEEN), INPUT1: written(ONES) },
    outputs: {
      OUTPUT0: written(SIXTEEN.map((value) => value + 1)),
      OUTPUT1: written(SIXTEEN.map((value) => value - 1)),
    },
  };
}

/** What the models of Triton's quick start answer. The sequence models add 1 to the first value of a sequence. */
const REQUESTS: Readonly<Record<string, readonly ExampleRequest[]>> = {
  simple: [sumAndDifference("INT32", (values) => values)],
  simple_int8: [sumAndDifference("INT8", (values) => values)],
  simple_string: [sumAndDifference("BYTES", texts)],
  simple_sequence: sequence([{ OUTPUT: 6 }, { OUTPUT: 5 }]),
  simple_dyna_sequence: sequence([{ OUTPUT: 6 }, { OUTPUT: 12 }]),
};

function sequence(answers: readonly { readonly OUTPUT: number }[]): readonly ExampleRequest[] {
  return answers.map(({ OUTPUT }, index) => ({
    parameters: { sequence_id: 7, sequence_start: index === 0, sequence_end: index === answers.length - 1 },
    datatype: "INT32",
    inputs: { INPUT: [5] },
    outputs: { OUTPUT: [OUTPUT] },
  }));
}

/** `<folder>/triton-example-repository`: every model loads with the configuration that it came with and answers right. */
export async function runExampleRepositorySuite(folder: string): Promise<SuiteReport> {
  const tally = createTally();
  const models = readModelRepository(join(folder, "triton-example-repository"));
  const source = createMemoryRepository(models, { digest });
  const server = await startInProcessServer({ source });
  try {
    for (const name of Object.keys(models)) {
      try {
        await checkModel(server.handle, name);
        tally.pass();
      } catch (thrown) {
        tally.fail(name, reasonOf(thrown));
      }
    }
  } finally {
    await server.stop();
  }
  return tally.report();
}

async function checkModel(handle: ExchangeHandler, name: string): Promise<void> {
  const requests = REQUESTS[name];
  if (requests === undefined) throw new Error("nobody has said what this model answers");
  await sendOk(handle, "POST", `/v2/repository/models/${name}/load`);
  for (const { parameters = {}, inputs, datatype, outputs } of requests) {
    const request = {
      parameters,
      inputs: Object.entries(inputs).map(([input, data]) => ({
        name: input,
        datatype,
        shape: [1, data.length],
        data,
      })),
    };
    const body = new TextEncoder().encode(JSON.stringify(request));
    const answer = JSON.parse(textOf(await sendOk(handle, "POST", `/v2/models/${name}/infer`, { body }))) as {
      readonly outputs: readonly { readonly name: string; readonly data: readonly unknown[] }[];
    };
    for (const [output, expected] of Object.entries(outputs)) {
      const data = answer.outputs.find((candidate) => candidate.name === output)?.data;
      if (JSON.stringify(data) !== JSON.stringify(expected)) {
        throw new Error(`${output} is ${JSON.stringify(data)} where ${JSON.stringify(expected)} is expected`);
      }
    }
  }
}
