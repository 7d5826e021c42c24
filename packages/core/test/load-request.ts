export const POLL_FAILED = "failed to poll from model repository";

/** A configuration for a load request. */
export function configJson(changes: object = {}): string {
  return JSON.stringify({
    backend: "fake",
    max_batch_size: 4,
    input: [{ name: "x", data_type: "TYPE_INT32", dims: [1] }],
    output: [{ name: "y", data_type: "TYPE_INT32", dims: [1] }],
    ...changes,
  });
}
