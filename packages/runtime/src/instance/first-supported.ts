import { InferenceError } from "@naiad/protocol";

/**
 * The result of the first choice that this platform supports. Only UNSUPPORTED leads on to the next choice, and `onSkip`
 * hears why; with the last one every failure is the result's.
 */
export async function firstSupported<Choice, Result>(
  choices: readonly Choice[],
  attempt: (choice: Choice) => Promise<Result>,
  onSkip: (reason: string) => void,
): Promise<Result> {
  for (const choice of choices.slice(0, -1)) {
    try {
      return await attempt(choice);
    } catch (thrown) {
      const error = InferenceError.from(thrown);
      if (error.code !== "UNSUPPORTED") throw error;
      onSkip(error.message);
    }
  }
  const [last] = choices.slice(-1);
  if (last === undefined) throw new InferenceError("INTERNAL", "there is nothing to choose from");
  return attempt(last);
}
