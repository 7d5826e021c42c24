import { InferenceError } from "@naiad/protocol";
import type {
  SchedulerFixture,
  SchedulerFixtureOptions,
  SendOptions,
  SentRequest,
} from "./scheduler-fixture.ts";
import { answerTexts, createSchedulerFixture } from "./scheduler-fixture.ts";
import { firstElement, sumAnswer, summingConfig } from "./summing-model.ts";

export type SequenceFixtureOptions = Partial<SchedulerFixtureOptions> & {
  /** As for `summingConfig`. */
  readonly maxBatchSize?: number;
  readonly sequences?: string;
};

/** The model of `summingConfig`, of which an execution takes 10 ms. */
export function createSequenceFixture({
  maxBatchSize = 4,
  sequences = "",
  ...options
}: SequenceFixtureOptions = {}): Promise<SchedulerFixture> {
  return createSchedulerFixture({
    config: summingConfig({ maxBatchSize, sequences }),
    latencyNs: 10e6,
    onExecute: sumAnswer,
    ...options,
  });
}

/** `flags`: `s` for START, `e` for END. The value of request n is n. */
export function sendStep(
  fixture: SchedulerFixture,
  id: bigint | string,
  flags: "" | "s" | "e" | "se" = "",
  rest: SendOptions = {},
): SentRequest {
  return fixture.send({
    sequence: { id, start: flags.includes("s"), end: flags.includes("e") },
    ...rest,
  });
}

/** The code and text that a request is refused with, or `accepted`. */
export function refusalOf(enqueue: () => unknown): string {
  try {
    enqueue();
    return "accepted";
  } catch (thrown) {
    const { code, message } = InferenceError.from(thrown);
    return `${code} ${message}`;
  }
}

/** The sum that each was answered with, or its error. */
export function answeredSums(sent: readonly SentRequest[]): readonly (number | string)[] {
  return sent.map(({ outcomes }, index) => {
    const [outcome] = outcomes;
    return outcome?.kind === "response"
      ? firstElement(outcome.outputs, "y")
      : (answerTexts(sent)[index] ?? "");
  });
}

/** By execution `id:value` of each row, `-` where it only fills its place. */
export function executedSteps(fixture: SchedulerFixture): readonly string[] {
  return fixture.backend.executions.map(({ requests }) =>
    requests
      .map(({ inputs }) =>
        firstElement(inputs, "READY") === 0
          ? "-"
          : `${firstElement(inputs, "ID")}:${firstElement(inputs, "x")}`,
      )
      .join(" "),
  );
}
