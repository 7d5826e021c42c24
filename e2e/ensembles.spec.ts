import { expect, test } from "./fixtures.ts";
import { counts, errorOf, inferJson, parsed, send } from "./requests.ts";

const FEATURES = [0.5, 0, 0, 0];
/** As `batcher` scales them. */
const SCALED = FEATURES.map((feature) => 2 * feature + 1);

test("a page asks an ensemble of ONNX models as it asks any model", async ({ blank, start }) => {
  await start(blank, { loadModels: ["ensemble_chain"] });
  const features = { datatype: "FP32", shape: [1, 4] };
  const whole = parsed(
    await inferJson(blank, "ensemble_chain", [{ name: "FEATURES", ...features, data: FEATURES }]),
  );
  const bySteps = parsed(
    await inferJson(blank, "classifier", [{ name: "FEATURES", ...features, data: SCALED }]),
  );
  expect(whole.outputs).toEqual(bySteps.outputs);

  const labelled = await send(
    blank,
    "POST",
    "/v2/models/ensemble_chain/infer",
    JSON.stringify({
      inputs: [{ name: "FEATURES", ...features, data: FEATURES }],
      outputs: [{ name: "SCORES", parameters: { classification: 1 } }],
    }),
  );
  expect(parsed(labelled).outputs[0]?.data).toEqual([expect.stringMatching(/:0:rock$/)]);
});

test("requests of an ensemble meet in the batches of its models", async ({ blank, start }) => {
  await start(blank, { loadModels: ["ensemble_chain"] });
  const before = await counts(blank, "batcher");
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, row) =>
      inferJson(blank, "ensemble_chain", [
        { name: "FEATURES", datatype: "FP32", shape: [1, 4], data: [row, 0, 0, 0] },
      ]),
    ),
  );
  const alone = await inferJson(blank, "ensemble_chain", [
    { name: "FEATURES", datatype: "FP32", shape: [1, 4], data: [7, 0, 0, 0] },
  ]);
  const near = parsed(alone).outputs[0]?.data.map((score) => expect.closeTo(Number(score), 5));
  expect(parsed(answers[7] ?? alone).outputs[0]?.data).toEqual(near);
  const after = await counts(blank, "batcher");
  expect(after.inferences - before.inferences).toBe(9);
  expect(after.executions - before.executions).toBeLessThan(9);
});

test("branches run side by side, and only those that an answer needs", async ({ blank, start }) => {
  await start(blank, { loadModels: ["ensemble_diamond"] });
  const ask = (outputs: readonly string[]): string =>
    JSON.stringify({
      inputs: [{ name: "INPUT", datatype: "FP32", shape: [1, 4], data: [1, 2, 3, 4] }],
      outputs: outputs.map((name) => ({ name })),
    });
  const all = parsed(
    await send(blank, "POST", "/v2/models/ensemble_diamond/infer", ask(["LEFT", "RIGHT", "LAST"])),
  );
  expect(all.outputs.map(({ name, shape, data }) => [name, shape, data])).toEqual([
    ["LEFT", [1, 4], [103, 105, 107, 109]],
    ["RIGHT", [1, 4], [203, 205, 207, 209]],
    ["LAST", [1, 4], [306, 310, 314, 318]],
  ]);
  const right = parsed(await send(blank, "POST", "/v2/models/ensemble_diamond/infer", ask(["RIGHT"])));
  expect(right.outputs.map(({ name }) => name)).toEqual(["RIGHT"]);
  expect((await counts(blank, "optional_input")).inferences).toBe(1);
});

test("an ensemble goes and comes back with its models", async ({ blank, start }) => {
  await start(blank, { loadModels: ["ensemble_chain"] });
  const ready = async (): Promise<number> =>
    (await send(blank, "GET", "/v2/models/ensemble_chain/ready")).status;
  expect(await ready()).toBe(200);
  await send(blank, "POST", "/v2/repository/models/classifier/unload");
  expect(await ready()).toBe(400);
  await send(blank, "POST", "/v2/repository/models/classifier/load");
  expect(await ready()).toBe(200);

  await send(
    blank,
    "POST",
    "/v2/repository/models/ensemble_chain/unload",
    '{"parameters":{"unload_dependents":true}}',
  );
  expect((await send(blank, "GET", "/v2/models/batcher/ready")).status).toBe(400);
  // Asked for by name above.
  expect((await send(blank, "GET", "/v2/models/classifier/ready")).status).toBe(200);
});

test("an error names the ensemble", async ({ blank, start }) => {
  await start(blank, { loadModels: ["ensemble_diamond"] });
  const answer = await send(
    blank,
    "POST",
    "/v2/models/ensemble_diamond/infer",
    JSON.stringify({
      inputs: [{ name: "INPUT", datatype: "FP32", shape: [2, 4], data: [1, 2, 3, 4, 5, 6, 7, 8] }],
    }),
  );
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toMatch(/^in ensemble 'ensemble_diamond', .*unexpected shape for input 'INPUT'/);
});
