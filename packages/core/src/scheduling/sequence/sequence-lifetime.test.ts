import type { InstanceOutcome, InstanceRequest, RequestOutcome } from "@naiad/core";
import type { SchedulerFixture } from "@naiad/testing";
import {
  answeredSums,
  answerTexts,
  createSchedulerFixture,
  createSequenceFixture,
  refusalOf,
  sendStep,
  sumAnswer,
  summingConfig,
  sumOutcome,
} from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { givingUp } from "../../../test/replaced-instances.ts";
import { START_TEXT } from "../../../test/sequence-texts.ts";

const MS = 1_000_000;
const S = 1_000 * MS;

/** A state that is a value longer after each step. */
function grownState({ inputs, outputs }: InstanceRequest): InstanceOutcome {
  const shape = [1, rememberedCount(inputs) + 1];
  const bytes = new Uint8Array(4 * (shape[1] ?? 0));
  return {
    kind: "response",
    outputs: outputs.map((name) => ({ kind: "bytes", name, datatype: "FP32", shape, bytes })),
    parameters: {},
  };
}

function rememberedCount(inputs: InstanceRequest["inputs"]): number {
  return inputs.find(({ name }) => name === "s")?.shape[1] ?? 0;
}

describe("a sequence", () => {
  it("starts anew in its place when START comes before its END", async () => {
    const fixture = await createSequenceFixture();
    const sent = [
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 1n),
      sendStep(fixture, 1n, "s"),
      sendStep(fixture, 1n, "e"),
    ];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 3, 3, 7]);
    expect(fixture.logger.lines).toContainEqual({
      level: "warning",
      message:
        "[request id: 3] sequence 1 for model 'm' has a conflict. The previous sequence did not end before this " +
        "sequence start. Previous sequence will be terminated early.",
    });
  });

  it("loses its slot when nothing of it was queued or executed for the idle time", async () => {
    const fixture = await createSequenceFixture({ maxBatchSize: 1 });
    const first = sendStep(fixture, 1n, "s");
    const second = sendStep(fixture, 2n, "s");
    await fixture.clock.advance(10 * MS);
    expect(answerTexts([first, second])).toEqual(["response", "none"]);
    await fixture.clock.advance(S - 1);
    expect(answerTexts([second])).toEqual(["none"]);
    await fixture.clock.advance(1);
    await fixture.clock.advance(10 * MS);
    expect(answerTexts([second])).toEqual(["response"]);
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe(
      `${START_TEXT("1")} (the sequence of this id ended: no request came for 1000000 microseconds, its ` +
        "max_sequence_idle_microseconds)",
    );
    sendStep(fixture, 1n, "s");
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe("accepted");
  });

  it("is not idle while it executes, however long that takes", async () => {
    const fixture = await createSequenceFixture({ latencyNs: 3 * S });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(3 * S);
    const again = sendStep(fixture, 1n);
    await fixture.clock.advance(3 * S);
    expect(answeredSums([again])).toEqual([3]);
    await fixture.clock.advance(S);
    expect(refusalOf(() => sendStep(fixture, 1n))).toContain("must specify the START flag");
  });

  it("is idle since its last step, not since the one before it", async () => {
    const fixture = await createSequenceFixture({
      sequences: "max_sequence_idle_microseconds: 5000",
      latencyNs: 4 * MS,
    });
    const sent = [sendStep(fixture, 1n, "s")];
    await fixture.clock.advance(7 * MS);
    sent.push(sendStep(fixture, 1n));
    await fixture.clock.advance(5 * MS);
    sent.push(sendStep(fixture, 1n, "e"));
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 3, 6]);
  });

  it("is not idle in the backlog, where it lands when its instance is gone", async () => {
    const fixture = await createSequenceFixture({
      instances: 2,
      maxBatchSize: 1,
      onCreate: givingUp("m_0"),
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 2n, "s")];
    await fixture.clock.advance(10 * MS);
    fixture.backend.lose("m_0");
    // It gets the slot of the other, which is idle for a second, and may then be idle as long.
    await fixture.clock.advance(1.5 * S);
    sent.push(sendStep(fixture, 1n, "e"));
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 2, 4]);
  });

  it("may be as idle as configured", async () => {
    const fixture = await createSequenceFixture({ sequences: "max_sequence_idle_microseconds: 5000000" });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(4 * S);
    expect(refusalOf(() => sendStep(fixture, 1n))).toBe("accepted");
  });

  it("goes on after an error, with the state that it had", async () => {
    const fixture = await createSequenceFixture({
      onExecute: (execution) =>
        execution.requestIds.includes("2")
          ? { kind: "fail", error: { code: "INTERNAL", message: "no" } }
          : sumAnswer(execution),
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n), sendStep(fixture, 1n)];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, "INTERNAL no", 4]);
  });

  it("keeps a state that the model did not give", async () => {
    const fixture = await createSequenceFixture({
      onExecute: (execution) => ({
        kind: "complete",
        outcomes: execution.requests.map((request): InstanceOutcome => {
          const outcome = sumOutcome(request);
          const gives = request.id !== "2";
          return { ...outcome, outputs: outcome.outputs.filter(({ name }) => gives || name !== "t") };
        }),
      }),
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n), sendStep(fixture, 1n)];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([1, 3, 4]);
  });

  it.each([
    ["direct", "", ["1:1", "- 2:1", "3:2 - -", "- - 4:1", "5:3", "- 7:2 6:2"]],
    ["oldest", "oldest { max_candidate_sequences: 4 }", ["1:1", "2:1", "3:2", "4:1", "5:3", "6:2 7:2"]],
  ])("shares no batch with one whose state has another shape (%s)", async (_name, strategy, expected) => {
    const fixture = await createSchedulerFixture({
      config: `name: "m" max_batch_size: 4
        input { name: "x" data_type: TYPE_FP32 dims: [1] } output { name: "y" data_type: TYPE_FP32 dims: [-1] }
        sequence_batching {
          state { input_name: "s" output_name: "y" data_type: TYPE_FP32 dims: [-1] } ${strategy}
        }`,
      latencyNs: MS,
      onExecute: ({ requests }) => ({ kind: "complete", outcomes: requests.map(grownState) }),
    });
    sendStep(fixture, 1n, "s");
    await fixture.clock.advance(2 * MS);
    // While 3 executes, 1 comes, which remembers two values, and 2, which remembers one.
    sendStep(fixture, 3n, "s");
    sendStep(fixture, 1n);
    sendStep(fixture, 2n, "s");
    await fixture.clock.advance(10 * MS);
    for (const id of [1n, 2n, 3n]) sendStep(fixture, id);
    await fixture.clock.advance(10 * MS);
    const shown = fixture.backend.executions.map(({ requests }) =>
      requests
        .map(({ id, inputs, outputs }) => (outputs.length === 0 ? "-" : `${id}:${rememberedCount(inputs)}`))
        .join(" "),
    );
    expect(shown).toEqual(expected);
    expect(fixture.statistics.snapshot({ name: "m", version: "1" })).toMatchObject({
      inference_count: 7,
      execution_count: 6,
      batch_limits: { shape: 1 },
    });
  });

  it("has a state that clients do not see, unless it is an output too", async () => {
    const hidden = await createSequenceFixture();
    const shown = await createSchedulerFixture({
      config: `${summingConfig()} output { name: "t" data_type: TYPE_FP32 dims: [1] }`,
      onExecute: sumAnswer,
    });
    const outputs = async (fixture: SchedulerFixture): Promise<readonly string[]> => {
      const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n, "e")];
      await fixture.clock.drain();
      return sent
        .flatMap((request): readonly RequestOutcome[] => request.outcomes)
        .map((outcome) =>
          outcome.kind === "response" ? outcome.outputs.map(({ name }) => name).join() : "error",
        );
    };
    expect(await outputs(hidden)).toEqual(["y", "y"]);
    expect(await outputs(shown)).toEqual(["y,t", "y,t"]);
  });

  it("begins with what a file holds", async () => {
    const fixture = await createSchedulerFixture({
      config: summingConfig().replace(
        'output_name: "t" data_type: TYPE_FP32 dims: [1]',
        'output_name: "t" data_type: TYPE_FP32 dims: [1] ' +
          'initial_state { name: "i" data_type: TYPE_FP32 dims: [1] data_file: "hundred" }',
      ),
      files: { "initial_state/hundred": new Uint8Array(Float32Array.of(100).buffer) },
      onExecute: sumAnswer,
    });
    const sent = [sendStep(fixture, 1n, "s"), sendStep(fixture, 1n), sendStep(fixture, 1n, "s")];
    await fixture.clock.drain();
    expect(answeredSums(sent)).toEqual([101, 103, 103]);
  });
});
