import type { Page } from "./fixtures.ts";

export interface JsonTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly data: readonly (number | string | boolean)[];
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly marked: boolean;
}

export interface InferAnswer {
  readonly model_name: string;
  readonly model_version: string;
  readonly outputs: readonly JsonTensor[];
}

/** One plain fetch by the page. The body goes out exactly as given. */
export async function send(page: Page, method: "GET" | "POST", path: string, body?: string): Promise<Answer> {
  return await page.evaluate(
    async ([verb, target, text]) => {
      const response = await fetch(target, { method: verb, ...(text === undefined ? {} : { body: text }) });
      return {
        status: response.status,
        body: await response.text(),
        marked: response.headers.has("x-naiad"),
      };
    },
    [method, path, body] as const,
  );
}

export async function inferJson(page: Page, model: string, inputs: readonly JsonTensor[]): Promise<Answer> {
  return await send(page, "POST", `/v2/models/${model}/infer`, JSON.stringify({ inputs }));
}

/** The parsed answer of a request that must succeed. */
export function parsed(answer: Answer): InferAnswer {
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.body}`);
  return JSON.parse(answer.body) as InferAnswer;
}

export function errorOf(answer: Answer): string {
  return (JSON.parse(answer.body) as { readonly error: string }).error;
}

export const range = (length: number, from = 0): number[] =>
  Array.from({ length }, (_, index) => from + index);

/** The inputs of Triton's example model `simple`: 0 to 15, and ones. */
export const SIMPLE_INPUTS: readonly JsonTensor[] = [
  { name: "INPUT0", datatype: "INT32", shape: [1, 16], data: range(16) },
  { name: "INPUT1", datatype: "INT32", shape: [1, 16], data: range(16).map(() => 1) },
];

export interface ExecutionCounts {
  readonly inferences: number;
  readonly executions: number;
}

export async function counts(page: Page, model: string): Promise<ExecutionCounts> {
  const { body } = await send(page, "GET", `/v2/models/${model}/stats`);
  const {
    model_stats: [first],
  } = JSON.parse(body) as {
    readonly model_stats: readonly { readonly inference_count: number; readonly execution_count: number }[];
  };
  if (first === undefined) throw new Error(`no statistics of ${model}`);
  return { inferences: first.inference_count, executions: first.execution_count };
}
