import { describe, expect, it } from "vitest";
import { checkOptions } from "./check-options.ts";

describe("checkOptions", () => {
  it("takes what it knows, and nothing where nothing is given", () => {
    checkOptions({
      modelRepository: "m",
      modelControlMode: "poll",
      loadModels: ["a"],
      limits: { runMs: 5 },
      rateLimitResources: [{ name: "gpu", count: 1 }],
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
    [{ rateLimit: "on" }, "'rateLimit' must be one of 'off', 'execution_count', but it is 'on'"],
    [
      { rateLimitResources: {} },
      "'rateLimitResources' must be a list, of each an object of { name: a string",
    ],
    [{ rateLimitResources: [{ name: "gpu" }] }, "'rateLimitResources' must be a list"],
    [{ rateLimitResources: [{ name: "gpu", count: -1 }] }, "'rateLimitResources' must be a list"],
    [{ onEvent: "x" }, "'onEvent' must be a function"],
    [
      { modelNamespacing: true },
      "'modelNamespacing' must be false, since namespaces are not supported: give models of one name in two " +
        "repositories different names, but it is true",
    ],
    [{ modelRepositories: "m" }, "startServer has no option 'modelRepositories'"],
  ])("refuses %j", (options, text) => {
    expect(() => {
      checkOptions({ modelRepository: "m", ...options });
    }).toThrow(text);
  });

  it.each(
    [null, 5, "", {}, [], [undefined], [null], { url: 5 }, { url: "m", manifest: 5 }, { uri: "m" }].map(
      (bad) => [bad],
    ),
  )("refuses the model repository %j", (modelRepository) => {
    expect(() => {
      checkOptions({ modelRepository });
    }).toThrow(
      "startServer's option 'modelRepository' must be the repository's URL, an object of { url, manifest }, or a list of " +
        "such, but it is ",
    );
  });

  it.each([["m"], [["m", { url: "n", manifest: "{}" }]], [{ url: "m", manifest: {} }], [{ url: "m" }]])(
    "takes the model repository %j",
    (modelRepository) => {
      checkOptions({ modelRepository });
    },
  );

  it.each([
    [undefined, "the options of startServer must be an object, but they are undefined"],
    [null, "the options of startServer must be an object, but they are null"],
    ["models", "the options of startServer must be an object, but they are 'models'"],
    [{}, "startServer needs the option 'modelRepository': the repository's URL"],
    [{ modelRepository: undefined }, "startServer needs the option 'modelRepository': the repository's URL"],
  ])("says of %j what is missing", (options, text) => {
    expect(() => {
      checkOptions(options);
    }).toThrow(text);
  });

  it.each([
    "id",
    "modelConfigName",
    "modelNamespacing",
    "limits",
    "rateLimitResources",
    "base",
    "assets",
    "serviceWorker",
    "onEvent",
    "signal",
  ])("refuses null for %s", (name) => {
    expect(() => {
      checkOptions({ modelRepository: "m", [name]: null });
    }).toThrow(`startServer's option '${name}' must be `);
  });
});
