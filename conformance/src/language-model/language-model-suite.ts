import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ExchangeHandler } from "@naiad/protocol";
import { createMemoryRepository } from "@naiad/testing";
import { countExecutions } from "../batched/sequence-client.ts";
import { STORY_CONFIG, STORY_MODEL } from "../batched/story-cases.ts";
import { sendOk } from "../http-client.ts";
import { digest, startInProcessServer } from "../in-process-server.ts";
import type { SuiteReport, Tally } from "../report.ts";
import { createTally, reasonOf } from "../report.ts";
import type { Prompt } from "./generate-client.ts";
import { generate, streamedText } from "./generate-client.ts";

/** The sample pipeline of the playground, whose decoder was never trained. */
const [MODEL, TOKENIZER, DECODER] = ["tiny_lm", "tiny_lm_tokenizer", "tiny_lm_decoder"];
const SAMPLES = new URL("../../../scripts/sample-models/", import.meta.url);

const EXECUTIONS_PER_TOKEN = 0.3;
const TOKENS = 60;
/** Characters that 256 tokens have at least. */
const LONG = 500;
/** Beside the golden ones. They are of many lengths, so that their sequences are at many positions. */
const OTHER_PROMPTS = [
  "Once upon a time",
  "The cat",
  "One day, a boy named Tim",
  "Lily wanted to",
  "The sun was hot. A big frog sat by the pond and said,",
  "Mom",
];

interface Golden {
  readonly cases: readonly { readonly prompt: string; readonly text: string }[];
}

/**
 * The same pipeline with a trained decoder and its tokenizer in their place: text by `generate_stream`, alone and with seven
 * other prompts in flight, is word for word what the decoder's own program writes.
 */
export async function runLanguageModelSuite(folder: string): Promise<SuiteReport> {
  const tally = createTally();
  const read = (path: string): Uint8Array => new Uint8Array(readFileSync(join(folder, "models", path)));
  const modules = javaScriptModules();
  const source = createMemoryRepository(
    {
      [MODEL]: { "config.pbtxt": configOf(MODEL), ...modules, "1/model.js": modules["1/language-model.js"] },
      [TOKENIZER]: {
        "config.pbtxt": configOf(TOKENIZER),
        ...modules,
        "1/model.js": modules["1/tokenizer.js"],
        "vocabulary.bin": read("stories260K/tok512.bin"),
      },
      [DECODER]: {
        "config.pbtxt": STORY_CONFIG,
        "1/model.onnx": read(`batched/${STORY_MODEL}.onnx`),
      },
    },
    { digest },
  );
  const server = await startInProcessServer({ source });
  try {
    await sendOk(server.handle, "POST", `/v2/repository/models/${MODEL}/load`);
    await checkLongStory(server.handle, folder, tally);
    await checkEight(server.handle, folder, tally);
  } catch (thrown) {
    tally.fail(MODEL, reasonOf(thrown));
  } finally {
    await server.stop();
  }
  return tally.report();
}

/** As far as the decoder has room. */
async function checkLongStory(handle: ExchangeHandler, folder: string, tally: Tally): Promise<void> {
  const golden = readFileSync(join(folder, "models/stories260K/greedy_golden.txt"), "utf8").trimStart();
  const { text_output: text } = await generate(handle, MODEL, { text_input: "", max_tokens: 256 });
  report(tally, "the whole story, by generate", text, golden.slice(0, Math.max(text.length, LONG)));
  tally.remark(`the whole story: ${text.length} characters`);
}

async function checkEight(handle: ExchangeHandler, folder: string, tally: Tally): Promise<void> {
  const { cases } = JSON.parse(
    readFileSync(join(folder, "models/batched/stories260K_batched.golden.json"), "utf8"),
  ) as Golden;
  const tell = (prompt: string): Promise<string> => {
    const asked: Prompt = { text_input: prompt, max_tokens: TOKENS };
    return streamedText(handle, MODEL, asked);
  };
  const stories: { readonly prompt: string; readonly text: string }[] = [];
  for (const { prompt, text } of cases) {
    report(tally, `'${prompt}', alone`, await tell(prompt), text);
    stories.push({ prompt, text });
  }
  for (const prompt of OTHER_PROMPTS) stories.push({ prompt, text: await tell(prompt) });

  const { inferences, executions } = await countExecutions(handle, DECODER, async () => {
    const told = await Promise.all(stories.map(({ prompt }) => tell(prompt)));
    for (const [index, { prompt, text }] of stories.entries()) {
      report(tally, `'${prompt}', with ${stories.length - 1} others in flight`, told[index] ?? "", text);
    }
  });
  const perToken = executions / inferences;
  if (perToken <= EXECUTIONS_PER_TOKEN) tally.pass();
  else tally.fail("eight stories at once", `${perToken.toFixed(3)} executions for each token`);
  tally.remark(`eight stories at once: ${perToken.toFixed(3)} executions for each token`);
}

function report(tally: Tally, name: string, told: string, expected: string): void {
  if (told === expected) tally.pass();
  else tally.fail(name, `'${told}' where '${expected}' is expected`);
}

function configOf(name: string): string {
  return readFileSync(new URL(`${name}/config.pbtxt`, SAMPLES), "utf8");
}

/** All of the sample models' modules, as one version has them. */
function javaScriptModules(): Readonly<Record<string, string>> & {
  readonly [Name in "1/language-model.js" | "1/tokenizer.js"]: string;
} {
  const directory = fileURLToPath(new URL("javascript/", SAMPLES));
  const read = (file: string): string => readFileSync(join(directory, file), "utf8");
  return {
    ...Object.fromEntries(readdirSync(directory).map((file) => [`1/${file}`, read(file)])),
    "1/language-model.js": read("language-model.js"),
    "1/tokenizer.js": read("tokenizer.js"),
  };
}
