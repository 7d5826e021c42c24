import type { MemoryModel, MemoryRepository, ServerBench } from "@naiad/testing";
import {
  createMemoryRepository,
  createServerBench,
  ECHO_CONFIG,
  echoedValue,
  echoModel,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";

const SECOND = 1_000_000_000;
const { signal } = new AbortController();

interface Polling {
  readonly bench: ServerBench;
  readonly first: MemoryRepository;
  readonly second: MemoryRepository;
}

/** A server in mode poll over two repositories, of which the first has `models`. */
async function polling(models: Readonly<Record<string, MemoryModel>>): Promise<Polling> {
  const second = createMemoryRepository({}, { id: "second" });
  const bench = createServerBench({
    models,
    options: { modelControlMode: "poll", repositoryPollSecs: 1, exitOnError: false },
    moreRepositories: [second],
  });
  await bench.start();
  return { bench, first: bench.repository, second };
}

/** Lets the server look again, and everything happen that follows from what it sees. */
async function poll(bench: ServerBench): Promise<readonly string[]> {
  await bench.clock.advance(SECOND);
  for (let rounds = 0; rounds < 10; rounds += 1) await bench.clock.settle();
  return bench.index();
}

/** What each step does to the repositories, and the index after the poll that sees it. */
type Step = readonly [change: (repositories: Polling) => void, index: readonly string[]];

describe("a polling server", () => {
  const all = "version_policy { all {} }";
  const table: readonly (readonly [string, Readonly<Record<string, MemoryModel>>, readonly Step[]])[] = [
    [
      "serves the versions that there are, one by one",
      { m: echoModel([1], all) },
      [
        [({ first }) => first.put("m", echoModel([1, 3], all)), ["m:1 READY", "m:3 READY"]],
        [({ first }) => first.put("m", echoModel([3], all)), ["m:1 UNAVAILABLE unloaded", "m:3 READY"]],
        [({ first }) => first.put("m", echoModel([1, 3], all)), ["m:1 READY", "m:3 READY"]],
      ],
    ],
    [
      "keeps what it serves where nothing is left to serve",
      { m: echoModel([1]) },
      [
        [({ first }) => first.put("m", { "config.pbtxt": ECHO_CONFIG }), ["m:1 READY"]],
        [({ first }) => first.put("m", echoModel([2])), ["m:1 UNAVAILABLE unloaded", "m:2 READY"]],
      ],
    ],
    [
      "does not mind other directories and hidden files",
      { m: echoModel([1]) },
      [
        [({ first }) => first.put("m", { ...echoModel([1]), "01/model": "", "v2/model": "" }), ["m:1 READY"]],
        [({ first }) => first.put("m", { ...echoModel([1]), ".hidden": "" }), ["m:1 READY"]],
      ],
    ],
    [
      "unloads a model that a second repository has too, and loads it when one of them gives it up",
      { m: echoModel([1]) },
      [
        [
          ({ second }) => second.put("m", echoModel([2])),
          ["m UNAVAILABLE model appears in two or more repositories"],
        ],
        [({ first }) => first.remove("m"), ["m:1 UNAVAILABLE unloaded", "m:2 READY"]],
      ],
    ],
    [
      "follows a model that moves from one repository to the other",
      { m: echoModel([1]) },
      [
        [
          ({ first, second }) => {
            first.remove("m");
            second.put("m", echoModel([1], all));
          },
          ["m:1 READY"],
        ],
      ],
    ],
    [
      "loads a model once it can be read, and keeps it when it cannot any more",
      { m: { "config.pbtxt": "max_batch_size: many", "1/model.fake": "" } },
      [
        [({ first }) => first.put("m", echoModel([1])), ["m:1 READY"]],
        [({ first }) => first.put("m", { "config.pbtxt": "?", "1/model.fake": "" }), ["m:1 READY"]],
        [({ first }) => first.remove("m"), []],
        [({ first }) => first.put("m", echoModel([4])), ["m:1 UNAVAILABLE unloaded", "m:4 READY"]],
      ],
    ],
  ];

  it.each(table)("%s", async (_what, models, steps) => {
    const repositories = await polling(models);
    for (const [change, index] of steps) {
      change(repositories);
      expect(await poll(repositories.bench)).toEqual(index);
    }
    await repositories.bench.server.stop();
    expect(repositories.bench.liveInstances).toBe(0);
    expect(repositories.bench.clock.timerCount).toBe(0);
  });

  it("goes by the name and the files where the configuration was deleted", async () => {
    const { bench, first } = await polling({ "m.fake": echoModel([1], "dynamic_batching {}") });
    first.put("m.fake", { "1/model.fake": "version 1" });
    expect(await poll(bench)).toEqual(["m.fake:1 READY"]);
    const config = await bench.server.modelConfig({ modelName: "m.fake", modelVersion: "" }, { signal });
    expect(config).toMatchObject({ backend: "fake", max_batch_size: 0, input: [] });
    await bench.server.stop();
  });

  it("takes new labels over", async () => {
    const labelled = ECHO_CONFIG.replace('name: "y"', 'name: "y" label_filename: "labels.txt"');
    const model = (labels: string): MemoryModel => ({
      "config.pbtxt": labelled,
      "1/model.fake": "",
      "labels.txt": labels,
    });
    const { bench, first } = await polling({ m: model("old") });
    const best = async (): Promise<string> => {
      const bytes = new Uint8Array(Int32Array.of(7).buffer);
      const { outputs } = await bench.server.modelInfer(
        {
          modelName: "m",
          modelVersion: "",
          id: "",
          parameters: {},
          inputs: [{ kind: "bytes", name: "x", datatype: "INT32", shape: [1, 1], bytes }],
          outputs: [{ name: "y", classCount: 1 }],
        },
        { signal },
      );
      const [output] = outputs;
      return output?.kind === "bytes" ? new TextDecoder().decode(output.bytes.subarray(4)) : "";
    };
    expect(await best()).toMatch(/:0:old$/);
    first.put("m", model("new"));
    await poll(bench);
    expect(await best()).toMatch(/:0:new$/);
    await bench.server.stop();
  });

  it("answers what was sent to a model before it vanished", async () => {
    const { bench, first } = await polling({ m: echoModel([1]) });
    const answer = bench.infer("m", 5).then(echoedValue);
    first.remove("m");
    await poll(bench);
    expect(await answer).toBe(5);
    await expect(bench.infer("m", 6)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "Request for unknown model: 'm' has no available versions",
    });
    await bench.server.stop();
  });
});
