import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { firstSupported } from "./first-supported.ts";

/** Tries `a`, `b` and `c`, of which some fail with a code. */
async function tryAll(failures: Readonly<Record<string, "UNSUPPORTED" | "INTERNAL">>) {
  const tried: string[] = [];
  const skipped: string[] = [];
  const attempt = (choice: string): Promise<string> => {
    tried.push(choice);
    const code = failures[choice];
    return code === undefined
      ? Promise.resolve(choice)
      : Promise.reject(new InferenceError(code, `no ${choice}`));
  };
  const result = await firstSupported(["a", "b", "c"], attempt, (reason) => skipped.push(reason)).catch(
    (thrown: unknown) => InferenceError.from(thrown).message,
  );
  return { result, tried, skipped };
}

describe("firstSupported", () => {
  it("stops at the first that works", async () => {
    expect(await tryAll({})).toEqual({ result: "a", tried: ["a"], skipped: [] });
    expect(await tryAll({ a: "UNSUPPORTED" })).toEqual({ result: "b", tried: ["a", "b"], skipped: ["no a"] });
  });

  it("stops at a failure that another choice would not mend", async () => {
    expect(await tryAll({ a: "UNSUPPORTED", b: "INTERNAL" })).toMatchObject({
      result: "no b",
      tried: ["a", "b"],
    });
  });

  it("fails with what the last choice says", async () => {
    const all = { a: "UNSUPPORTED", b: "UNSUPPORTED", c: "UNSUPPORTED" } as const;
    expect(await tryAll(all)).toMatchObject({ result: "no c", skipped: ["no a", "no b"] });
  });
});
