import { InferenceError } from "@naiad/protocol";
import { InferenceResponse } from "./model/inference-response.ts";
import type { ReceivedRequest } from "./received-request.ts";
import { typeName } from "./response-sender.ts";

/**
 * What a model's `execute` returned, one entry per request: its response, or `undefined` where it gave null. Throws INTERNAL
 * with Triton's texts for anything that is no such list; all requests of the batch fail with it.
 */
export function responsesOf(
  returned: unknown,
  requests: readonly Pick<ReceivedRequest, "isRescheduled">[],
): readonly (InferenceResponse | undefined)[] {
  // Nothing at all counts as a list of nulls.
  if (returned === null || returned === undefined) return requests.map(() => undefined);
  if (!Array.isArray(returned)) {
    throw wrong(`Expected a list in the execute return, found type '${typeName(returned)}'.`);
  }
  if (returned.length !== requests.length) {
    throw wrong(
      "Number of InferenceResponse objects do not match the number of InferenceRequest objects. " +
        `InferenceRequest(s) size is:${requests.length}, and InferenceResponse(s) size is:${returned.length}\n`,
    );
  }
  return requests.map(({ isRescheduled }, index) => {
    const response: unknown = returned[index];
    if (response === null || response === undefined) return undefined;
    if (isRescheduled) {
      throw wrong(
        "Expected a None object in the execute function return list for reschduled request, found type " +
          `'${typeName(response)}'.`,
      );
    }
    if (response instanceof InferenceResponse) return response;
    throw wrong(
      `Expected an 'InferenceResponse' object in the execute function return list, found type '${typeName(response)}'.`,
    );
  });
}

/** The `execute` of a decoupled model answers through senders alone. */
export function checkDecoupledReturn(returned: unknown, modelName: string): void {
  if (returned === null || returned === undefined) return;
  throw wrong(
    `JavaScript model '${modelName}' is using the decoupled mode and the execute function must return None.`,
  );
}

function wrong(message: string): InferenceError {
  return new InferenceError("INTERNAL", message);
}
