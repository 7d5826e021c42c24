import { tinyStory } from "../packages/testing/src/fixture-models/tiny-decoder-reference.ts";
import type { Page } from "./fixtures.ts";
import { expect, test } from "./fixtures.ts";
import type { ExecutionCounts } from "./requests.ts";
import { counts, errorOf, send } from "./requests.ts";

const [MODEL, DECODER] = ["tiny_lm", "tiny_lm_decoder"];
const MODELS = [MODEL, DECODER, "tiny_lm_tokenizer"];
const TOKENS = 64;

interface Told {
  readonly status: number;
  readonly contentType: string;
  readonly pieces: readonly string[];
  /** Decoder steps in the server when the first piece was here, and in the end. */
  readonly stepsAtFirst: number;
  readonly stepsAtLast: number;
}

/** Reads `generate_stream` as a page does. */
async function tell(page: Page, prompt: string): Promise<Told> {
  return await page.evaluate(
    async ([model, decoder, text_input, max_tokens]) => {
      const steps = async (): Promise<number> => {
        const response = await fetch(`/v2/models/${decoder}/stats`);
        const { model_stats: stats } = (await response.json()) as {
          readonly model_stats: readonly { readonly inference_count: number }[];
        };
        return stats[0]?.inference_count ?? NaN;
      };
      const response = await fetch(`/v2/models/${model}/generate_stream`, {
        method: "POST",
        body: JSON.stringify({ text_input, max_tokens, stream: true }),
      });
      if (response.body === null) throw new Error("no body");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const pieces: string[] = [];
      let stepsAtFirst = NaN;
      let text = "";
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        if (text === "" && pieces.length === 0) stepsAtFirst = await steps();
        text += read.value;
        const events = text.split("\n\n");
        text = events.pop() ?? "";
        for (const event of events) {
          const piece = JSON.parse(event.replace(/^data: /, "")) as { readonly text_output: string };
          pieces.push(piece.text_output);
        }
      }
      return {
        status: response.status,
        contentType: response.headers.get("content-type") ?? "",
        pieces,
        stepsAtFirst,
        stepsAtLast: await steps(),
      };
    },
    [MODEL, DECODER, prompt, TOKENS] as const,
  );
}

async function countedSteps(page: Page, work: () => Promise<void>): Promise<ExecutionCounts> {
  const before = await counts(page, DECODER);
  await work();
  const after = await counts(page, DECODER);
  return {
    inferences: after.inferences - before.inferences,
    executions: after.executions - before.executions,
  };
}

test("a text streams token by token, the first of them long before the last is computed", async ({
  blank,
  start,
}) => {
  await start(blank, { loadModels: MODELS });
  const prompt = "Once upon a time";
  const told = await tell(blank, prompt);
  expect([told.status, told.contentType]).toEqual([200, "text/event-stream; charset=utf-8"]);
  expect(told.pieces).toHaveLength(TOKENS);
  expect(told.pieces.join("")).toBe(tinyStory(prompt, TOKENS));
  expect(told.stepsAtLast).toBe(2 + prompt.length + TOKENS - 1);
  expect(told.stepsAtFirst).toBeLessThan(told.stepsAtLast - TOKENS / 4);
});

test("prompts at once each get the text they get alone, and share executions", async ({ blank, start }) => {
  await start(blank, { loadModels: MODELS });
  const prompts = ["", "a", "The cat", "Zwölf", "Once upon a time", "7", "Hello", "What is this?"];
  for (const [some, limit] of [
    [prompts.slice(4, 6), 0.8],
    [prompts, 0.4],
  ] as const) {
    const { inferences, executions } = await countedSteps(blank, async () => {
      const told = await Promise.all(some.map((prompt) => tell(blank, prompt)));
      expect(told.map(({ pieces }) => pieces.join(""))).toEqual(
        some.map((prompt) => tinyStory(prompt, TOKENS)),
      );
    });
    expect(executions / inferences).toBeLessThan(limit);
  }
});

test("a fetch that is given up stops the decoder", async ({ blank, start }) => {
  await start(blank, { loadModels: MODELS });
  const { inferences } = await countedSteps(blank, async () => {
    await blank.evaluate(async (model) => {
      const gone = new AbortController();
      const response = await fetch(`/v2/models/${model}/generate_stream`, {
        method: "POST",
        body: JSON.stringify({ text_input: "a", max_tokens: 250, stream: true }),
        signal: gone.signal,
      });
      const reader = response.body?.getReader();
      await reader?.read();
      gone.abort();
    }, MODEL);
    await expect
      .poll(async () => {
        const { inferences: earlier } = await counts(blank, DECODER);
        await blank.waitForTimeout(250);
        return (await counts(blank, DECODER)).inferences - earlier;
      })
      .toBe(0);
  });
  expect(inferences).toBeLessThan(200);
});

test("generate gives the whole text, to where it is to stop", async ({ blank, start }) => {
  await start(blank, { loadModels: MODELS });
  const whole = tinyStory("The cat", TOKENS);
  const stop = whole.slice(30, 34);
  const ask = async (more: object): Promise<unknown> => {
    const body = JSON.stringify({ text_input: "The cat", max_tokens: TOKENS, ...more });
    return JSON.parse((await send(blank, "POST", `/v2/models/${MODEL}/generate`, body)).body) as unknown;
  };
  expect(await ask({})).toEqual({
    model_name: MODEL,
    model_version: "1",
    text_output: `The cat${whole}`,
    num_output_tokens: TOKENS,
    finish_reason: "length",
  });
  expect(await ask({ stop, exclude_input_in_output: true })).toMatchObject({
    text_output: whole.slice(0, whole.indexOf(stop)),
    finish_reason: "stop",
  });
});

test("what the model refuses is an error, streamed or not", async ({ blank, start }) => {
  await start(blank, { loadModels: MODELS });
  const body = JSON.stringify({ text_input: "a", max_tokens: 0, stream: true });
  const whole = await send(blank, "POST", `/v2/models/${MODEL}/generate`, body);
  expect([whole.status, errorOf(whole)]).toEqual([400, "max_tokens must be at least 1"]);
  const streamed = await send(blank, "POST", `/v2/models/${MODEL}/generate_stream`, body);
  expect([streamed.status, streamed.body]).toEqual([
    400,
    'data: {"error":"max_tokens must be at least 1"}\n\n',
  ]);
});
