import type { InferenceStreamResponse } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { echoedValue } from "@naiad/testing";

/** Numbers of the responses, codes of their errors, and at last the code and text of what ended them. */
export async function readAll(
  responses: AsyncIterable<InferenceStreamResponse>,
): Promise<readonly unknown[]> {
  const read: unknown[] = [];
  try {
    for await (const response of responses) read.push(response.error?.code ?? echoedValue(response));
  } catch (thrown) {
    const { code, message } = InferenceError.from(thrown);
    read.push(`${code} ${message}`);
  }
  return read;
}
