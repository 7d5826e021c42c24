import { expect, it } from "vitest";
import { createResponseStatistics } from "./response-statistics.ts";

it("keeps the first 1,000 responses apart and adds all later ones to the last of them", () => {
  const statistics = createResponseStatistics();
  for (let index = 0; index < 1_500; index += 1) {
    statistics.add({ kind: "success", index, computeInferNs: 10, computeOutputNs: 1 });
  }
  statistics.add({ kind: "empty_response", index: 1_500, durationNs: 5 });
  const snapshot = statistics.snapshot();
  expect(Object.keys(snapshot)).toHaveLength(1_000);
  expect(snapshot["998"]?.success).toEqual({ count: 1, ns: 11 });
  expect(snapshot["999"]).toMatchObject({
    success: { count: 501, ns: 501 * 11 },
    empty_response: { count: 1, ns: 5 },
    compute_infer: { count: 502, ns: 501 * 10 + 5 },
  });
});
