import { describe, expect, it } from "vitest";
import { checkOptions } from "./check-options.ts";

describe("checkOptions", () => {
  it("takes what it knows, and nothing where nothing is given", () => {
    checkOptions({
      modelRepository: "m",
      modelControlMode: "poll",
      loadModels: ["a"],
      limits: { runMs: 5 },
      serviceWorker: false,
      id: undefined,
    });
  });

  it.each([
    [
      { modelControlMode: "pol" },
      "'modelControlMode' must be one of 'none', 'poll', 'explicit', but it is 'pol'",
    ],
    [{ threads: -1 }, "'threads' must be a whole number of at least 0, but it is -1"],
    [{ repositoryPollSecs: 0 }, "'repositoryPollSecs' must be a whole number of at least 1, but it is 0"],
    [{ httpMaxInputSize: "big" }, "'httpMaxInputSize' must be a whole number of at least 1, but it is 'big'"],
    [{ limits: { runMs: "x" } }, "'limits' must be an object of { createMs: a whole number of at least 0"],
    [{ limits: { run: 1 } }, "'limits' must be an object"],
    [{ loadModels: [1] }, "'loadModels' must be a string or a list of strings, but it is [1]"],
    [{ onEvent: "x" }, "'onEvent' must be a function"],
    [{ modelRepositories: "m" }, "startServer has no option 'modelRepositories'"],
  ])("refuses %j", (options, text) => {
    expect(() => {
      checkOptions(options);
    }).toThrow(text);
  });
});
