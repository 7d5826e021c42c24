import { syntheticVoice } from "../packages/testing/src/audio/synthetic-voice.ts";
import type { Page } from "./fixtures.ts";
import { expect, test } from "./fixtures.ts";
import { counts, errorOf, inferJson, send } from "./requests.ts";
import { FRAME, framesOf, runVadAlone } from "./vad-reference.ts";

const MODEL = "silero_vad";

/** Streams of 20 to 45 frames. */
const STREAMS = [0, 1, 2, 3, 4, 5].map((seed) => syntheticVoice(seed, (20 + 5 * seed) * FRAME));
const FRAMES = STREAMS.reduce((sum, { length }) => sum + length / FRAME, 0);

function expectEqual(actual: readonly (readonly number[])[], expected: readonly (readonly number[])[]): void {
  expect(actual.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
  const differences = expected.flatMap((stream, row) =>
    stream.map((value, frame) => Math.abs((actual[row]?.[frame] ?? NaN) - value)),
  );
  expect(Math.max(...differences)).toBeLessThanOrEqual(1e-5);
}

/** Plain lists: only those cross to the page. */
function plain(streams: readonly Float32Array<ArrayBuffer>[]): number[][][] {
  return streams.map((stream) => framesOf(stream).map((frame) => [...frame]));
}

/** All streams at once through the SDK, each frame when the one before is answered. */
async function listenByClient(page: Page): Promise<readonly (readonly number[])[]> {
  return await page.evaluate(
    async ({ modelName, streams }) => {
      const { client } = window.test.server;
      const listen = async (frames: readonly number[][], id: string): Promise<number[]> => {
        const heard: number[] = [];
        for (const [index, frame] of frames.entries()) {
          const { outputs } = await client.infer({
            modelName,
            inputs: { input: { data: Float32Array.from(frame), shape: [1, frame.length] } },
            sequence: { id, start: index === 0, end: index === frames.length - 1 },
          });
          heard.push(...(outputs["output"]?.data as Float32Array));
        }
        return heard;
      };
      return await Promise.all(streams.map((frames, index) => listen(frames, `microphone ${index}`)));
    },
    { modelName: MODEL, streams: plain(STREAMS) },
  );
}

/** The same by plain `fetch`, with numbers as ids. */
async function listenByFetch(page: Page): Promise<readonly (readonly number[])[]> {
  return await page.evaluate(
    async ({ modelName, streams }) => {
      const listen = async (frames: readonly number[][], id: number): Promise<number[]> => {
        const heard: number[] = [];
        for (const [index, data] of frames.entries()) {
          const parameters = {
            sequence_id: id,
            sequence_start: index === 0,
            sequence_end: index === frames.length - 1,
          };
          const inputs = [{ name: "input", datatype: "FP32", shape: [1, data.length], data }];
          const response = await fetch(`/v2/models/${modelName}/infer`, {
            method: "POST",
            body: JSON.stringify({ parameters, inputs }),
          });
          const answer = (await response.json()) as { outputs: { data: number[] }[] };
          heard.push(...(answer.outputs[0]?.data ?? []));
        }
        return heard;
      };
      return await Promise.all(streams.map((frames, index) => listen(frames, index + 1)));
    },
    { modelName: MODEL, streams: plain(STREAMS) },
  );
}

for (const [way, listen] of [
  ["the SDK", listenByClient],
  ["fetch", listenByFetch],
] as const) {
  test(`six streams at once by ${way} each hear what one session alone hears, and share executions`, async ({
    blank,
    start,
  }) => {
    await start(blank, { loadModels: [MODEL] });
    const before = await counts(blank, MODEL);
    expectEqual(await listen(blank), await runVadAlone(STREAMS));
    const after = await counts(blank, MODEL);
    expect(after.inferences - before.inferences).toBe(FRAMES);
    // Six streams in step would make a sixth; how far they stay in step is up to the machine.
    expect(after.executions - before.executions).toBeLessThan(0.8 * FRAMES);
  });
}

test("a frame needs a sequence, and a sequence a start", async ({ blank, start }) => {
  await start(blank, { loadModels: [MODEL] });
  const inputs = [
    { name: "input", datatype: "FP32", shape: [1, FRAME], data: Array.from({ length: FRAME }, () => 0) },
  ];
  const without = await inferJson(blank, MODEL, inputs);
  expect([without.status, errorOf(without)]).toEqual([
    400,
    `[request id: <id_unknown>] inference request to model '${MODEL}' must specify a non-zero or non-empty ` +
      "correlation ID",
  ]);
  const body = JSON.stringify({ parameters: { sequence_id: "unheard of" }, inputs });
  const unstarted = await send(blank, "POST", `/v2/models/${MODEL}/infer`, body);
  expect([unstarted.status, errorOf(unstarted)]).toEqual([
    400,
    `inference request for sequence unheard of to model '${MODEL}' must specify the START flag ` +
      "on the first request of the sequence",
  ]);
});
