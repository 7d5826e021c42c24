import { expect, it } from "vitest";
import { runOracleSuite } from "./oracle-suite.ts";

it("answers what a real Triton answered, except where a difference is known", async () => {
  const { passed, failures } = await runOracleSuite();
  expect(failures).toEqual([]);
  expect(passed).toBeGreaterThan(580);
});
