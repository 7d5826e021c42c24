import { expect, it } from "vitest";
import { createLimit } from "./limit.ts";

it("runs as many as it may, in the order they came, and goes on after a failure", async () => {
  const limit = createLimit(2);
  const started: string[] = [];
  const ends = new Map<string, (failed?: Error) => void>();
  const run = (name: string): Promise<void> =>
    limit.run(() => {
      started.push(name);
      return new Promise((resolve, reject) => {
        ends.set(name, (failed) => {
          if (failed === undefined) resolve();
          else reject(failed);
        });
      });
    });
  const all = ["a", "b", "c", "d"].map((name) => run(name).catch(() => undefined));
  await Promise.resolve();
  expect(started).toEqual(["a", "b"]);
  ends.get("b")?.(new Error("failed"));
  await all[1];
  await Promise.resolve();
  expect(started).toEqual(["a", "b", "c"]);
  ends.get("a")?.();
  ends.get("c")?.();
  await Promise.all([all[0], all[2]]);
  await Promise.resolve();
  expect(started).toEqual(["a", "b", "c", "d"]);
  ends.get("d")?.();
  await all[3];
});
