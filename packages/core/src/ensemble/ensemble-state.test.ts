import type { Tensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import type { EnsemblePlan, EnsembleStep, TensorMapping } from "./ensemble-plan.ts";
import type { EnsembleDecision, EnsembleEvent, EnsembleTensor, IssuedStep } from "./ensemble-state.ts";
import { advance, initialState } from "./ensemble-state.ts";

interface PlanText {
  /** `ab>c`: a step that reads the tensors a and b and writes c; `*` behind it: decoupled. */
  readonly steps: readonly string[];
  readonly optionalInputs?: readonly string[];
}

/** Inputs and outputs of models are named as the tensors. */
function planOf({ steps, optionalInputs = [] }: PlanText): EnsemblePlan {
  const named = (letters: string): readonly TensorMapping[] =>
    Array.from(letters).map((tensor) => ({ name: tensor, tensor }));
  const all = steps.map((text, index): EnsembleStep => {
    const [from = "", to = ""] = text.replace("*", "").split(">");
    return {
      index,
      modelName: `m${String(index)}`,
      modelVersion: undefined,
      inputs: named(from),
      outputs: named(to),
      decoupled: text.endsWith("*"),
    };
  });
  return {
    ensembleName: "e",
    steps: all,
    optionalInputs,
    decoupled: all.some(({ decoupled }) => decoupled),
    maxInflightRequests: 0,
    labelSources: new Map(),
  };
}

const tensor = (name: string, content = name): Tensor => ({
  kind: "bytes",
  name,
  datatype: "BYTES",
  shape: [1],
  bytes: new TextEncoder().encode(content),
});

/** Plays the part of the shell and writes down what it is told. */
class Player {
  readonly issued: IssuedStep[] = [];
  readonly responses: ReadonlyMap<string, EnsembleTensor>[] = [];
  ending: EnsembleDecision["ending"];
  #state;

  constructor(plan: PlanText, requested: string, inputs = "a") {
    this.#state = initialState(planOf(plan), Array.from(requested));
    this.#tell({ kind: "start", inputs: Array.from(inputs).map((name) => tensor(name)), batchSize: 1 });
  }

  /** Steps told of since the last call, as `step:iteration`. */
  news(): readonly string[] {
    const news = this.issued.slice(this.#seen).map(({ step, iteration }) => `${step.index}:${iteration}`);
    this.#seen = this.issued.length;
    return news;
  }
  #seen = 0;

  /** The only response of the step that was issued last, or one of a decoupled one; `-`: without outputs. */
  answer(
    stepIndex: number,
    { iteration, leaveOut = "" }: { iteration?: number; leaveOut?: string } = {},
  ): this {
    const issued = this.#find(stepIndex, iteration);
    const outputs = new Map(
      issued.step.outputs
        .filter(({ name }) => !leaveOut.includes(name))
        .map(({ name }) => [name, tensor(name)] as const),
    );
    this.#tell({ kind: "response", issued, response: { outputs, batchSize: 1, sequence: undefined } });
    return this;
  }

  end(stepIndex: number): this {
    this.#tell({ kind: "end", issued: this.#find(stepIndex) });
    return this;
  }

  fail(stepIndex: number, message: string): this {
    const error = new InferenceError("UNAVAILABLE", message);
    this.#tell({ kind: "failed", issued: this.#find(stepIndex), error });
    return this;
  }

  fault(message: string): this {
    this.#tell({ kind: "fault", error: new InferenceError("UNAVAILABLE", message) });
    return this;
  }

  /** Names of the tensors that somebody is still to read. */
  get kept(): readonly string[] {
    return [...this.#state.tensors.values()].map(({ name }) => name);
  }

  #find(stepIndex: number, iteration?: number): IssuedStep {
    const found = this.issued.find(
      (one) => one.step.index === stepIndex && (iteration === undefined || one.iteration === iteration),
    );
    if (found === undefined) throw new Error(`step ${String(stepIndex)} was not issued`);
    return found;
  }

  #tell(event: EnsembleEvent): void {
    const { state, issue, responses, ending } = advance(this.#state, event);
    this.#state = state;
    this.issued.push(...issue);
    this.responses.push(...responses);
    this.ending = ending;
  }
}

describe("steps", () => {
  it("follow each other where one reads what the other writes", () => {
    const player = new Player({ steps: ["b>c", "a>b"] }, "c");
    expect(player.news()).toEqual(["1:0"]);
    expect(player.answer(1).news()).toEqual(["0:0"]);
    expect(player.ending).toBeUndefined();
    player.answer(0);
    expect(player.responses.map((response) => [...response.keys()])).toEqual([["c"]]);
    expect(player.ending).toEqual({ kind: "answered" });
  });

  it("are issued side by side where they can, and once all they read is there", () => {
    const player = new Player({ steps: ["a>b", "a>c", "bc>d"] }, "d");
    expect(player.news()).toEqual(["0:0", "1:0"]);
    expect(player.answer(1).news()).toEqual([]);
    expect(player.answer(0).news()).toEqual(["2:0"]);
  });

  it("share the tensors that they read", () => {
    const { issued } = new Player({ steps: ["a>b", "a>c"] }, "bc");
    expect(issued[0]?.inputs.get("a")?.tensor).toBe(issued[1]?.inputs.get("a")?.tensor);
  });

  it("that only unwanted outputs need are left out", () => {
    const player = new Player({ steps: ["a>b", "b>c", "b>d"] }, "c");
    expect(player.news()).toEqual(["0:0"]);
    expect(player.answer(0).news()).toEqual(["1:0"]);
    player.answer(1);
    expect(player.ending).toEqual({ kind: "answered" });
  });

  it("get the sequence that the step before them told of", () => {
    const plan = planOf({ steps: ["a>b", "b>c", "c>d"] });
    const start = advance(initialState(plan, ["d"]), { kind: "start", inputs: [tensor("a")], batchSize: 1 });
    const [issued] = start.issue;
    if (issued === undefined) throw new Error("nothing was issued");
    const sequence = { id: 7n, start: true, end: false };
    const response = { outputs: new Map([["b", tensor("b")]]), batchSize: 1, sequence };
    const next = advance(start.state, { kind: "response", issued, response });
    const [second] = next.issue;
    if (second === undefined) throw new Error("nothing more was issued");
    expect(second.sequence).toEqual(sequence);
    // And what it tells holds until another step tells something else.
    const silent = { outputs: new Map([["c", tensor("c")]]), batchSize: 1, sequence: undefined };
    const last = advance(next.state, { kind: "response", issued: second, response: silent });
    expect(last.issue[0]?.sequence).toEqual(sequence);
  });
});

describe("an absent tensor", () => {
  it("is an optional input that was not given, and counts as there", () => {
    const player = new Player({ steps: ["ax>b"], optionalInputs: ["x"] }, "b");
    expect(player.news()).toEqual(["0:0"]);
    expect(player.issued[0]?.inputs.get("x")?.tensor).toBeUndefined();
  });

  it("is an output that a model left out: the steps behind it go on", () => {
    const player = new Player({ steps: ["a>bc", "c>d"] }, "bd");
    expect(player.answer(0, { leaveOut: "c" }).issued.at(-1)?.inputs.get("c")?.tensor).toBeUndefined();
    player.answer(1, { leaveOut: "d" });
    expect([...(player.responses[0] ?? [])].map(([name, { tensor: given }]) => [name, given?.name])).toEqual([
      ["b", "b"],
      ["d", undefined],
    ]);
    expect(player.ending).toEqual({ kind: "answered" });
  });
});

describe("an error", () => {
  it("ends the request when everything else in flight has ended, and nothing more is issued", () => {
    const player = new Player({ steps: ["a>b", "a>c", "c>d"] }, "bd");
    player.fail(0, "first");
    expect(player.ending).toBeUndefined();
    player.news();
    expect(player.answer(1).news()).toEqual([]);
    expect(player.ending).toMatchObject({ kind: "failed", error: { message: "first" } });
  });

  it("is the first one, whatever fails after it", () => {
    const player = new Player({ steps: ["a>b", "a>c"] }, "bc");
    player.fail(1, "first").fail(0, "second");
    expect(player.ending).toMatchObject({ kind: "failed", error: { message: "first" } });
  });
});

it("says that nothing can go on where a needed input is not there", () => {
  const player = new Player({ steps: ["ab>c"] }, "c", "a");
  expect(player.ending).toEqual({ kind: "deadlock" });
});

it("keeps no tensor longer than somebody needs it", () => {
  const player = new Player({ steps: ["a>b", "b>c", "bc>d"] }, "cd");
  expect(player.kept).toEqual([]);
  expect(player.answer(0).kept).toEqual(["b"]);
  expect(player.answer(1).kept).toEqual(["c"]);
  expect(player.answer(2).kept).toEqual([]);
});

describe("a decoupled step", () => {
  const STEPS = { steps: ["a>b*", "b>c", "b>d", "cd>f"] };

  it("begins an iteration with each response, which do not mix", () => {
    const player = new Player(STEPS, "f");
    player.news();
    expect(player.answer(0).news()).toEqual(["1:1", "2:1"]);
    expect(player.answer(0).news()).toEqual(["1:2", "2:2"]);
    expect(player.answer(1, { iteration: 2 }).answer(2, { iteration: 1 }).news()).toEqual([]);
    expect(player.answer(2, { iteration: 2 }).news()).toEqual(["3:2"]);
    expect(player.answer(1, { iteration: 1 }).news()).toEqual(["3:1"]);
  });

  it("ends the request with its last iteration", () => {
    const player = new Player({ steps: ["a>b*", "b>c"] }, "c");
    player.answer(0).answer(0).end(0).answer(1, { iteration: 1 });
    expect(player.ending).toBeUndefined();
    player.answer(1, { iteration: 2 });
    expect(player.responses).toHaveLength(2);
    expect(player.ending).toEqual({ kind: "answered" });
    expect(player.kept).toEqual([]);
  });

  it("may have no response at all", () => {
    expect(new Player(STEPS, "f").end(0).ending).toEqual({ kind: "answered" });
  });

  it("fails the request when it has had its last response", () => {
    const player = new Player({ steps: ["a>b*", "b>c"] }, "c");
    player.news();
    expect(player.fault("broken").answer(0).news()).toEqual([]);
    expect(player.ending).toBeUndefined();
    expect(player.end(0).ending).toMatchObject({ kind: "failed", error: { message: "broken" } });
  });

  it("ends with the first error, whatever else it has among its responses", () => {
    const player = new Player({ steps: ["a>b*", "b>c"] }, "c");
    player.answer(0).fail(1, "first").fault("second").end(0);
    expect(player.ending).toMatchObject({ kind: "failed", error: { message: "first" } });
    expect(new Player({ steps: ["a>b*"] }, "b").fault("first").fault("second").end(0).ending).toMatchObject({
      kind: "failed",
      error: { message: "first" },
    });
  });

  it("may stand behind another", () => {
    const player = new Player({ steps: ["a>b*", "b>c*"] }, "c");
    player.answer(0).answer(0).end(0);
    player.answer(1, { iteration: 1 }).answer(1, { iteration: 2 }).answer(1, { iteration: 1 });
    expect(player.responses).toHaveLength(3);
    expect(player.kept).toEqual([]);
  });
});
