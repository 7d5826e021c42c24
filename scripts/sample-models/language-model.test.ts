import { createMemoryRepository } from "@naiad/testing";
import { tinyStory } from "@naiad/testing/fixture-models";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countExecutions } from "../../conformance/src/batched/sequence-client.ts";
import { send, sendOk } from "../../conformance/src/http-client.ts";
import type { InProcessServer } from "../../conformance/src/in-process-server.ts";
import { digest, startInProcessServer } from "../../conformance/src/in-process-server.ts";
import type { Prompt, ToldPiece } from "../../conformance/src/language-model/generate-client.ts";
import {
  generate,
  generateStream,
  refusal,
  streamedText,
} from "../../conformance/src/language-model/generate-client.ts";
import { languageModels } from "./language-models.ts";

const [MODEL, DECODER] = ["tiny_lm", "tiny_lm_decoder"];
const PROMPT = "Once upon a time";

let server: InProcessServer;
beforeAll(async () => {
  const models = await languageModels();
  const source = createMemoryRepository(Object.fromEntries(models.map(({ files, name }) => [name, files])), {
    digest,
  });
  server = await startInProcessServer({ source });
  await sendOk(server.handle, "POST", `/v2/repository/models/${MODEL}/load`);
  // The first request makes it load the two others.
  await generate(server.handle, MODEL, { text_input: "a", max_tokens: 1 });
});
afterAll(() => server.stop());

const ask = (prompt: Prompt): Promise<ToldPiece> => generate(server.handle, MODEL, prompt);

async function piecesOf(prompt: Prompt): Promise<readonly ToldPiece[]> {
  const pieces: ToldPiece[] = [];
  for await (const piece of generateStream(server.handle, MODEL, prompt)) pieces.push(piece);
  return pieces;
}

const stepsDuring = async (work: () => Promise<void>): Promise<number> =>
  (await countExecutions(server.handle, DECODER, work)).inferences;

describe("tiny_lm through generate_stream", () => {
  it("tells what plain arithmetic tells, a piece for each token", async () => {
    const pieces = await piecesOf({ text_input: PROMPT, max_tokens: 64 });
    expect(pieces.map(({ text_output: text }) => text).join("")).toBe(tinyStory(PROMPT, 64));
    expect(pieces).toHaveLength(64);
    expect(new Set(pieces.map(({ num_output_tokens: tokens }) => tokens))).toEqual(new Set([1]));
    const reasons = pieces.map(({ finish_reason: reason }) => reason);
    expect(reasons.filter((reason) => reason !== undefined)).toEqual(["length"]);
    expect(reasons.at(-1)).toBe("length");
  });

  it("sends the first piece long before the last is computed", async () => {
    let before = 0;
    const all = await stepsDuring(async () => {
      const told = generateStream(server.handle, MODEL, { text_input: PROMPT, max_tokens: 64 });
      before = await stepsDuring(async () => {
        await told.next();
      });
      for await (const piece of told) expect(piece.text_output).not.toBe("");
    });
    expect(all).toBe(1 + 1 + PROMPT.length + 64 - 1);
    expect(before).toBeLessThan(all / 2);
  });

  it("stops computing when its reader leaves", async () => {
    const steps = await stepsDuring(async () => {
      for await (const piece of generateStream(server.handle, MODEL, { text_input: "a", max_tokens: 200 })) {
        expect(piece.text_output).not.toBe("");
        break;
      }
      await untilStill();
    });
    expect(steps).toBeLessThan(100);
  });

  it("stops computing when the request is given up, and has its place free for others", async () => {
    const steps = await stepsDuring(async () => {
      const gone = new AbortController();
      const told = generateStream(server.handle, MODEL, { text_input: "a", max_tokens: 200 }, gone);
      await told.next();
      gone.abort();
      await expect(collected(told)).rejects.toThrow();
      await untilStill();
    });
    expect(steps).toBeLessThan(100);
    expect(await streamedText(server.handle, MODEL, { text_input: "a", max_tokens: 8 })).toBe(
      tinyStory("a", 8),
    );
  });

  it("computes no further than its reader has come", async () => {
    const told = generateStream(server.handle, MODEL, { text_input: "a", max_tokens: 64 });
    const steps = await stepsDuring(async () => {
      await told.next();
      await untilStill();
    });
    expect(steps).toBeLessThan(64);
    expect(await collected(told)).toBe(tinyStory("a", 64).slice(1));
  });

  it("tells each of many prompts what it tells it alone, in shared executions", async () => {
    const prompts = ["", "a", "The", "The cat", "Zwölf", "Once upon a time", "7", "What is this?"];
    let told: readonly string[] = [];
    const { inferences, executions } = await countExecutions(server.handle, DECODER, async () => {
      told = await Promise.all(
        prompts.map((text) => streamedText(server.handle, MODEL, { text_input: text, max_tokens: 40 })),
      );
    });
    expect(told).toEqual(prompts.map((text) => tinyStory(text, 40)));
    expect(executions / inferences).toBeLessThan(0.3);
  });

  it("shares executions between two prompts, too", async () => {
    const { inferences, executions } = await countExecutions(server.handle, DECODER, async () => {
      await Promise.all(["a", "b"].map((text) => piecesOf({ text_input: text, max_tokens: 40 })));
    });
    expect(executions / inferences).toBeLessThan(0.75);
  });
});

describe("tiny_lm through generate", () => {
  it("gives the prompt and the whole text", async () => {
    expect(await ask({ text_input: PROMPT, max_tokens: 20 })).toMatchObject({
      text_output: PROMPT + tinyStory(PROMPT, 20),
      num_output_tokens: 20,
      finish_reason: "length",
    });
  });

  it("gives the text alone where it is asked to, and 64 tokens unless it is told how many", async () => {
    const told = await ask({ text_input: PROMPT, exclude_input_in_output: true });
    expect(told.text_output).toBe(tinyStory(PROMPT, 64));
  });

  it("ends in front of a stop word, and computes nothing behind it", async () => {
    const whole = tinyStory(PROMPT, 64);
    const stop = whole.slice(20, 24);
    const steps = await stepsDuring(async () => {
      const told = await ask({ text_input: PROMPT, stop: [stop, "?"], exclude_input_in_output: true });
      expect(told).toMatchObject({
        text_output: whole.slice(0, whole.indexOf(stop)),
        finish_reason: "stop",
      });
    });
    expect(steps).toBeLessThan(1 + 1 + PROMPT.length + 30);
  });

  it("ends where the model has no more room", async () => {
    const told = await ask({ text_input: "a", max_tokens: 1000, exclude_input_in_output: true });
    expect(told).toMatchObject({ num_output_tokens: 256 - 3 + 1, finish_reason: "length" });
  });

  it("refuses prompts that are longer than that, and no tokens at all", async () => {
    const tooLong = await refusal(server.handle, MODEL, { text_input: "a".repeat(300) });
    expect(tooLong).toEqual([400, "the prompt has 302 tokens, and the model has room for 256"]);
    const none = await refusal(server.handle, MODEL, { text_input: "a", max_tokens: 0 });
    expect(none).toEqual([400, "max_tokens must be at least 1"]);
  });

  it("is a way that plain inference is not", async () => {
    const body = new TextEncoder().encode(
      JSON.stringify({ inputs: [{ name: "text_input", datatype: "BYTES", shape: [1], data: ["a"] }] }),
    );
    const answer = await send(server.handle, "POST", `/v2/models/${MODEL}/infer`, { body });
    expect(answer.status).toBe(501);
  });
});

async function collected(told: AsyncGenerator<ToldPiece, void>): Promise<string> {
  let text = "";
  for await (const piece of told) text += piece.text_output;
  return text;
}

/** Resolves when the decoder has had nothing to do for a while. */
async function untilStill(): Promise<void> {
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      setTimeout(resolve, 200);
    });
  while ((await stepsDuring(pause)) > 0);
}
