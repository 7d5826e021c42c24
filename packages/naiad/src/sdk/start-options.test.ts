import { describe, expect, it } from "vitest";
import { differingOptions, resolveSettings } from "./start-options.ts";

const PAGE = "https://example.test/app/index.html";

describe("resolveSettings", () => {
  it("makes every URL absolute and fills Triton's defaults", () => {
    const settings = resolveSettings({ modelRepository: "models" }, PAGE);
    expect(settings.server.modelRepositories).toEqual([{ url: "https://example.test/app/models/" }]);
    expect(settings.assets).toBe("https://example.test/naiad/");
    expect(settings.serviceWorker).toBe("https://example.test/naiad-sw.js");
    expect(settings.server).toMatchObject({
      id: "triton",
      modelControlMode: "explicit",
      loadModels: [],
      strictReadiness: true,
    });
  });

  it("puts the files under the base path", () => {
    const settings = resolveSettings({ modelRepository: "/m", base: "/app/", loadModels: "*" }, PAGE);
    expect(settings.assets).toBe("https://example.test/app/naiad/");
    expect(settings.serviceWorker).toBe("https://example.test/app/naiad-sw.js");
    expect(settings.server.loadModels).toEqual(["*"]);
  });

  it("carries a manifest as text", () => {
    const settings = resolveSettings(
      { modelRepository: { url: "m", manifest: { naiad_manifest: 1 } } },
      PAGE,
    );
    expect(settings.server.modelRepositories).toEqual([
      { url: "https://example.test/app/m/", manifest: '{"naiad_manifest":1}' },
    ]);
  });

  it.each(["app/", "/app", "", "https://example.test/"])("refuses the base '%s'", (base) => {
    expect(() => resolveSettings({ modelRepository: "m", base }, PAGE)).toThrow(
      /must begin and end with a slash/,
    );
  });

  it("reads restricted APIs and a pattern of headers", () => {
    const { server } = resolveSettings(
      {
        modelRepository: "m",
        httpRestrictedApi: ["model-repository,logging:Admin-Key=a=b", "trace:t=1"],
        httpHeaderForwardPattern: "^x-",
      },
      PAGE,
    );
    expect(server.httpRestrictedApis).toEqual([
      { categories: ["model-repository", "logging"], header: "Admin-Key", value: "a=b" },
      { categories: ["trace"], header: "t", value: "1" },
    ]);
    expect(server.httpHeaderForwardPattern).toBe("^x-");
  });

  it.each([
    [{ httpRestrictedApi: "logging" }, /is not of the form/],
    [{ httpRestrictedApi: "login:a=b" }, /unknown restricted API 'login'/],
    [
      { httpRestrictedApi: ["trace:a=b", "logging,trace:c=d"] },
      /'trace' can not be specified in multiple groups/,
    ],
    [{ httpHeaderForwardPattern: "(" }, /is no regular expression/],
  ])("refuses %j", (options, message) => {
    expect(() => resolveSettings({ modelRepository: "m", ...options }, PAGE)).toThrow(message);
  });

  it.each([
    [{}, false],
    [{ strictModelConfig: true }, true],
    [{ disableAutoCompleteConfig: true }, true],
    [{ strictModelConfig: true, disableAutoCompleteConfig: false }, false],
  ])("%j turns auto-complete off: %s", (options, expected) => {
    const { server } = resolveSettings({ modelRepository: "m", ...options }, PAGE);
    expect(server.disableAutoCompleteConfig).toBe(expected);
  });

  it("refuses an empty list of repositories", () => {
    expect(() => resolveSettings({ modelRepository: [] }, PAGE)).toThrow(/names no repository/);
  });
});

describe("differingOptions", () => {
  it("names what differs, also inside", () => {
    const one = resolveSettings({ modelRepository: "a", id: "x" }, PAGE);
    const other = resolveSettings({ modelRepository: "b", limits: { runMs: 1 } }, PAGE);
    expect(differingOptions(one, other)).toEqual([
      "server.id",
      "server.limits.runMs",
      "server.modelRepositories",
    ]);
    expect(differingOptions(one, one)).toEqual([]);
  });
});
