import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { syntheticVoice } from "@naiad/testing/audio";
import { identityModel, ElementType } from "@naiad/testing/fixture-models";
import { InferenceSession, Tensor } from "onnxruntime-web";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FRAME, framesOf, runVadAlone } from "../../e2e/vad-reference.ts";
import { packageDirectory } from "./sample-models.ts";
import { sileroVadModel } from "./silero-vad-model.ts";

const STATE = 2 * 128;
const CONTEXT = 64;

let session: InferenceSession;
beforeAll(async () => {
  const original = await readFile(join(packageDirectory("@ricky0123/vad-web"), "dist/silero_vad_v5.onnx"));
  session = await InferenceSession.create(sileroVadModel(original));
});
afterAll(() => session.release());

interface Row {
  readonly input: Float32Array;
  readonly state: Float32Array;
  readonly context: Float32Array;
}

interface RowResult {
  readonly output: number;
  readonly state: Float32Array;
  readonly context: Float32Array;
}

async function run(rows: readonly Row[]): Promise<readonly RowResult[]> {
  const batch = (name: keyof Row, dims: readonly number[]): Tensor => {
    const length = dims.reduce((product, size) => product * size, 1);
    const data = new Float32Array(rows.length * length);
    for (const [index, row] of rows.entries()) data.set(row[name], index * length);
    return new Tensor("float32", data, [rows.length, ...dims]);
  };
  const results = await session.run({
    input: batch("input", [FRAME]),
    state: batch("state", [2, 128]),
    context: batch("context", [CONTEXT]),
  });
  const rowOf = (name: string, index: number): Float32Array => {
    const data = results[name]?.data as Float32Array;
    const length = data.length / rows.length;
    return data.slice(index * length, (index + 1) * length);
  };
  return rows.map((_, index) => ({
    output: rowOf("output", index)[0] ?? NaN,
    state: rowOf("state_out", index),
    context: rowOf("context_out", index),
  }));
}

/** All streams in step, one row each. */
async function together(streams: readonly Float32Array<ArrayBuffer>[]): Promise<readonly number[][]> {
  const frames = streams.map(framesOf);
  const results: number[][] = streams.map(() => []);
  let memory = streams.map(() => ({ state: new Float32Array(STATE), context: new Float32Array(CONTEXT) }));
  for (let step = 0; step < (frames[0]?.length ?? 0); step += 1) {
    const rows = memory.map((kept, index) => ({
      ...kept,
      input: frames[index]?.[step] ?? new Float32Array(),
    }));
    const answers = await run(rows);
    for (const [index, { output }] of answers.entries()) results[index]?.push(output);
    memory = answers.map(({ state, context }) => ({
      state: new Float32Array(state),
      context: new Float32Array(context),
    }));
  }
  return results;
}

function largestDifference(actual: readonly (readonly number[])[], expected: readonly (readonly number[])[]) {
  return Math.max(
    ...expected.flatMap((stream, row) =>
      stream.map((value, step) => Math.abs((actual[row]?.[step] ?? NaN) - value)),
    ),
  );
}

describe("sileroVadModel", () => {
  const streams = [0, 1, 2, 3].map((seed) => syntheticVoice(seed, 60 * FRAME));

  it("says of a stream, frame by frame, what the published model says", async () => {
    const [expected = []] = await runVadAlone(streams.slice(0, 1));
    // Otherwise any model that always gives the same number would do.
    expect(Math.min(...expected)).toBeLessThan(0.1);
    expect(Math.max(...expected)).toBeGreaterThan(0.95);
    expect(largestDifference(await together(streams.slice(0, 1)), [expected])).toBeLessThan(1e-6);
  });

  it("takes a stream for each row of a batch, and the rows do not touch each other", async () => {
    expect(largestDifference(await together(streams), await runVadAlone(streams))).toBeLessThan(1e-5);
  });

  it("keeps the last samples of a frame as the next one's context", async () => {
    const input = Float32Array.from({ length: FRAME }, (_, index) => index / FRAME);
    const row = { input, state: new Float32Array(STATE), context: new Float32Array(CONTEXT) };
    const [answer] = await run([row]);
    expect(answer?.context).toEqual(input.slice(-CONTEXT));
  });

  it("refuses a model that is not Silero VAD, with what is different", () => {
    expect(() => sileroVadModel(identityModel(ElementType.FLOAT, ["n"]))).toThrow(
      "the original has inputs INPUT0 where input, state, sr are expected",
    );
  });
});
