import { describe, expect, it } from "vitest";
import type { FetchHead } from "./engine-files-problem.ts";
import { engineFilesProblem } from "./engine-files-problem.ts";

const ORT_URL = "https://example.test/ort/";
const MJS = `${ORT_URL}ort-wasm-simd-threaded.mjs`;
const WASM = `${ORT_URL}ort-wasm-simd-threaded.wasm`;

/** A server with both files, except where `others` says what else it answers. */
function serving(others: Readonly<Record<string, () => Response>> = {}): FetchHead {
  return (url) => {
    const answer =
      others[url] ?? (() => new Response(null, { headers: { "content-type": "text/javascript" } }));
    return Promise.resolve(url).then(answer);
  };
}

describe("engineFilesProblem", () => {
  it("is none where both files are there, or where no server has them", async () => {
    expect(await engineFilesProblem("wasm", { ortUrl: ORT_URL }, serving())).toBeUndefined();
    const never: FetchHead = () => Promise.reject(new Error("asked"));
    for (const ortUrl of ["", "file:///ort/"]) {
      expect(await engineFilesProblem("wasm", { ortUrl }, never)).toBeUndefined();
    }
  });

  it.each([
    [
      "is missing",
      serving({ [WASM]: () => new Response(null, { status: 404 }) }),
      `${WASM}: HTTP status 404`,
    ],
    [
      "is a start page",
      serving({ [MJS]: () => new Response(null, { headers: { "content-type": "text/html" } }) }),
      `${MJS}: the server answered with an HTML page instead of the file`,
    ],
    [
      "cannot be reached",
      serving({
        [MJS]: () => {
          throw new TypeError("Failed to fetch");
        },
      }),
      `${MJS}: cannot be fetched (TypeError: Failed to fetch)`,
    ],
  ])("names the file that %s", async (_what, fetchHead, problem) => {
    expect(await engineFilesProblem("wasm", { ortUrl: ORT_URL }, fetchHead)).toBe(problem);
  });
});
