import { describe, expect, it } from "vitest";
import { describeFailure } from "./describe-failure.ts";

const BASE = "https://app.test/v2-files/abc/";
const pathOf = (url: string): string | undefined =>
  url.startsWith(BASE) ? url.slice(BASE.length) : undefined;

function thrown(stack: string): TypeError {
  return Object.assign(new TypeError("no"), { stack });
}

describe("what a model threw", () => {
  it.each([
    [
      "Chromium",
      `TypeError: no
    at scale (${BASE}1/lib/scale.js:12:7)
    at async Model.execute (${BASE}1/model.js:3:11)
    at ${BASE}1/model.js:9:1
    at call (https://app.test/naiad/workers/instance-javascript.js:1:99)`,
    ],
    [
      "Firefox",
      `scale@${BASE}1/lib/scale.js:12:7
Model.execute@${BASE}1/model.js:3:11
@${BASE}1/model.js:9:1
call@https://app.test/naiad/workers/instance-javascript.js:1:99`,
    ],
  ])("is told with the frames of its own code: %s", (_engine, stack) => {
    expect(describeFailure(thrown(stack), pathOf)).toBe(
      "TypeError: no\n\nAt:\n  1/lib/scale.js(12): scale\n  1/model.js(3): Model.execute\n  1/model.js(9): <anonymous>\n",
    );
  });

  it("is told without frames where there are none, and where it is no error", () => {
    expect(describeFailure(thrown("TypeError: no"), pathOf)).toBe("TypeError: no");
    expect(describeFailure("just a text", pathOf)).toBe("just a text");
    expect(describeFailure(undefined, pathOf)).toBe("undefined");
  });
});
