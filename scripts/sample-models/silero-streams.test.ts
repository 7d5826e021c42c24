import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createMemoryRepository } from "@naiad/testing";
import { readWave, syntheticVoice } from "@naiad/testing/audio";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ExecutionCounts, SequenceClient } from "../../conformance/src/batched/sequence-client.ts";
import { countExecutions, openSequence } from "../../conformance/src/batched/sequence-client.ts";
import { sendOk } from "../../conformance/src/http-client.ts";
import type { InProcessServer } from "../../conformance/src/in-process-server.ts";
import { digest, startInProcessServer } from "../../conformance/src/in-process-server.ts";
import { FRAME, framesOf, runVadAlone } from "../../e2e/vad-reference.ts";
import { sampleModels } from "./sample-models.ts";

const MODEL = "silero_vad";

let server: InProcessServer;
beforeAll(async () => {
  const models = (await sampleModels()).filter(({ name }) => name === MODEL);
  const source = createMemoryRepository(Object.fromEntries(models.map(({ files, name }) => [name, files])), {
    digest,
  });
  server = await startInProcessServer({ source });
  await sendOk(server.handle, "POST", `/v2/repository/models/${MODEL}/load`);
});
afterAll(() => server.stop());

type Stream = Float32Array<ArrayBuffer>;

async function probability(
  sequence: SequenceClient,
  frame: Stream,
  options: { readonly last: boolean },
): Promise<number> {
  const bytes = new Uint8Array(frame.slice().buffer);
  const input = { name: "input", datatype: "FP32", shape: [1, FRAME], bytes } as const;
  const [output] = await sequence.step([input], options);
  if (output?.name !== "output") throw new Error("the answer has no output");
  return new DataView(output.bytes.buffer, output.bytes.byteOffset).getFloat32(0, true);
}

/** Every frame is sent as soon as the one before it is answered. */
async function listen(stream: Stream): Promise<readonly number[]> {
  const sequence = openSequence(server.handle, MODEL);
  const frames = framesOf(stream);
  const heard: number[] = [];
  for (const [index, frame] of frames.entries()) {
    heard.push(await probability(sequence, frame, { last: index === frames.length - 1 }));
  }
  return heard;
}

interface Heard extends ExecutionCounts {
  readonly streams: readonly (readonly number[])[];
}

async function listenToAll(streams: readonly Stream[]): Promise<Heard> {
  let heard: readonly (readonly number[])[] = [];
  const counts = await countExecutions(server.handle, MODEL, async () => {
    heard = await Promise.all(streams.map(listen));
  });
  return { ...counts, streams: heard };
}

function expectEqual(actual: Heard["streams"], expected: Heard["streams"]): void {
  expect(actual.map(({ length }) => length)).toEqual(expected.map(({ length }) => length));
  const differences = expected.flatMap((stream, row) =>
    stream.map((value, frame) => Math.abs((actual[row]?.[frame] ?? NaN) - value)),
  );
  expect(Math.max(...differences)).toBeLessThanOrEqual(1e-5);
}

describe("streams of sound to silero_vad through the sequence batcher", () => {
  it("each get, frame by frame, what one session alone gives, and share executions", async () => {
    // Of different lengths: streams end while others go on.
    const streams = [0, 1, 2, 3, 4, 5].map((seed) => syntheticVoice(seed, (30 + 5 * seed) * FRAME));
    const heard = await listenToAll(streams);
    expectEqual(heard.streams, await runVadAlone(streams));
    expect(heard.inferences).toBe(30 + 35 + 40 + 45 + 50 + 55);
    expect(heard.executions).toBeLessThan(heard.inferences / 2);
  });

  it("that begin while others are half-way begin from silence", async () => {
    const [early, late] = [syntheticVoice(7, 40 * FRAME), syntheticVoice(8, 20 * FRAME)];
    const sequence = openSequence(server.handle, MODEL);
    const heard: number[] = [];
    let second: Promise<readonly number[]> | undefined;
    for (const [index, frame] of framesOf(early).entries()) {
      if (index === 15) second = listen(late);
      heard.push(await probability(sequence, frame, { last: index === 39 }));
    }
    expectEqual([heard, (await second) ?? []], await runVadAlone([early, late]));
  });

  const dataFolder = process.env["NAIAD_TEST_DATA"];
  it.skipIf(dataFolder === undefined || dataFolder === "")(
    "of recorded speech do as well (needs NAIAD_TEST_DATA: no small package with a free licence has any)",
    async () => {
      const { sampleRate, samples } = readWave(
        await readFile(join(dataFolder ?? "", "audio/speech_16k.wav")),
      );
      expect(sampleRate).toBe(16_000);
      const streams = [0, 100_000, 320_000, 777_777].map((start) =>
        samples.slice(start, start + 150 * FRAME),
      );
      const expected = await runVadAlone(streams);
      expect(expected.flat().filter((value) => value > 0.5).length).toBeGreaterThan(300);
      const heard = await listenToAll(streams);
      expectEqual(heard.streams, expected);
      expect(heard.executions).toBeLessThan(heard.inferences / 2);
    },
  );
});
