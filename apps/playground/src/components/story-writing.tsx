import type { ReactElement } from "react";
import { useEffect, useRef, useState } from "react";
import { generateStream } from "../lib/generate-stream.ts";
import type { StepTimes } from "../lib/measure-steps.ts";
import { measureSteps } from "../lib/measure-steps.ts";
import type { Exchange } from "../lib/v2.ts";
import type { RunnerProps } from "./model-view.tsx";
import { PipelineSteps } from "./pipeline-steps.tsx";

const STEPS = [
  { model: "tiny_lm_tokenizer", does: "makes tokens of the prompt" },
  { model: "tiny_lm_decoder", does: "finds the next token" },
];
const MAX_TOKENS = 160;

/** What has been written behind one prompt. */
interface Story {
  readonly prompt: string;
  readonly text: string;
  readonly tokens: number;
  /** Between the first token and the last. */
  readonly seconds: number;
}

/** A language model behind `generate_stream`: one prompt, or two at once that share the decoder's executions. */
export function StoryWriting({ model, perform }: RunnerProps): ReactElement {
  const [prompts, setPrompts] = useState<readonly string[]>(["Once upon a time"]);
  const [stories, setStories] = useState<readonly Story[]>([]);
  const [times, setTimes] = useState<readonly StepTimes[]>([]);
  const [writing, setWriting] = useState(false);
  const current = useRef<AbortController>(undefined);
  useEffect(() => () => current.current?.abort(), []);

  const change = (index: number, story: Story): void => {
    setStories((before) => before.map((each, at) => (at === index ? story : each)));
  };

  const write = async (prompt: string, index: number, signal: AbortSignal): Promise<Exchange> => {
    let story: Story = { prompt, text: "", tokens: 0, seconds: 0 };
    let first: number | undefined;
    return await generateStream(
      model,
      { text_input: prompt, max_tokens: MAX_TOKENS, stream: true },
      {
        signal,
        onPiece: ({ num_output_tokens: tokens, text_output: text }) => {
          const now = performance.now();
          first ??= now;
          story = {
            prompt,
            text: story.text + text,
            tokens: story.tokens + tokens,
            seconds: (now - first) / 1000,
          };
          change(index, story);
        },
      },
    );
  };

  const writeAll = async (): Promise<void> => {
    current.current?.abort();
    const stop = new AbortController();
    current.current = stop;
    setWriting(true);
    setTimes([]);
    setStories(prompts.map((prompt) => ({ prompt, text: "", tokens: 0, seconds: 0 })));
    await perform(async () => {
      const measured = await measureSteps(
        STEPS.map((step) => step.model),
        () => Promise.all(prompts.map((prompt, index) => write(prompt, index, stop.signal))),
      );
      setTimes(measured.steps);
      const [exchange] = measured.result;
      if (exchange === undefined) throw new Error("there is no prompt");
      return { exchange };
    });
    if (current.current === stop) setWriting(false);
  };

  return (
    <form
      className="pipeline stories"
      onSubmit={(event) => {
        event.preventDefault();
        void writeAll();
      }}
    >
      {prompts.map((prompt, index) => (
        <div className="actions" key={index}>
          <input
            value={prompt}
            aria-label={index === 0 ? "Prompt" : "Second prompt"}
            placeholder="How does it begin?"
            onChange={(event) =>
              setPrompts((before) => before.map((each, at) => (at === index ? event.target.value : each)))
            }
          />
          {index === 0 && (
            <>
              <button type="submit" className="primary" disabled={writing}>
                Write
              </button>
              <button type="button" disabled={!writing} onClick={() => current.current?.abort()}>
                Stop
              </button>
              <button
                type="button"
                disabled={writing}
                onClick={() =>
                  setPrompts((before) => (before.length > 1 ? before.slice(0, 1) : [...before, "The cat"]))
                }
              >
                {prompts.length > 1 ? "One prompt" : "Two at once"}
              </button>
            </>
          )}
        </div>
      ))}
      {stories.map((story, index) => (
        <figure className="story" key={index}>
          <blockquote>
            <span className="quiet">{story.prompt}</span>
            <output data-testid="story">{story.text}</output>
          </blockquote>
          <figcaption className="quiet number" data-testid="story-speed">
            {speedText(story)}
          </figcaption>
        </figure>
      ))}
      {stories.length === 0 && (
        <p className="quiet">
          The decoder was never trained: what it writes sounds like words and means nothing, but it is the
          same on every machine.
        </p>
      )}
      <PipelineSteps steps={STEPS} times={times} />
    </form>
  );
}

function speedText({ seconds, tokens }: Story): string {
  if (tokens < 2 || seconds === 0) return `${tokens} tokens`;
  return `${tokens} tokens, ${((tokens - 1) / seconds).toFixed(0)} a second`;
}
