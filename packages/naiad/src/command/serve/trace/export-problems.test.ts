import { expect, it } from "vitest";
import { createProblemTeller } from "./export-problems.ts";

it("tells the same problem once a minute, and how often it was not told", () => {
  const log: string[] = [];
  let nowMs = 0;
  const tell = createProblemTeller({ log: (level, text) => log.push(`${level}: ${text}`) }, () => nowMs);
  for (const count of [288, 871, 2248]) tell(`Dropped ${String(count)} spans because maxQueueSize reached`);
  tell("something else");
  nowMs = 60_000;
  tell("Dropped 5 spans because maxQueueSize reached");
  expect(log).toEqual([
    "warning: exporting traces: Dropped 288 spans because maxQueueSize reached",
    "warning: exporting traces: something else",
    "warning: exporting traces: Dropped 5 spans because maxQueueSize reached (and 2 times before)",
  ]);
});

it("tells what an exception says, without its stack", () => {
  const log: string[] = [];
  const tell = createProblemTeller({ log: (_level, text) => log.push(text) });
  tell(JSON.stringify({ stack: "Error: no\n at a.js:1", message: "no", name: "Error" }));
  tell(JSON.stringify({ stack: "AggregateError\n at a.js:2", code: "ECONNREFUSED", name: "AggregateError" }));
  tell("{ no JSON");
  expect(log).toEqual(["no", "ECONNREFUSED", "{ no JSON"].map((text) => `exporting traces: ${text}`));
});
