import { describe, expect, it } from "vitest";
import { resolveSettings } from "./start-settings.ts";

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

  it("reads what is to stand in the metrics", () => {
    const { server, serviceWorker } = resolveSettings(
      { modelRepository: "m", metricsConfig: ["summary_latencies=true", "counter_latencies=false"] },
      PAGE,
    );
    expect(server.allowMetrics).toBe(true);
    expect(server.metricsConfig).toMatchObject({ summaryLatencies: true, counterLatencies: false });
    expect(serviceWorker).toBe("https://example.test/naiad-sw.js");
    expect(() => resolveSettings({ modelRepository: "m", metricsConfig: "summaries=true" }, PAGE)).toThrow(
      /is none of counter_latencies/,
    );
  });

  it.each([
    ["/sw.js", "https://example.test/sw.js?allow-metrics=false"],
    ["/sw.js?v=2", "https://example.test/sw.js?v=2&allow-metrics=false"],
  ])("tells the service worker %s of metrics that are not wanted", (serviceWorker, expected) => {
    const settings = resolveSettings({ modelRepository: "m", serviceWorker, allowMetrics: false }, PAGE);
    expect(settings.serviceWorker).toBe(expected);
    expect(settings.server.allowMetrics).toBe(false);
    const without = resolveSettings(
      { modelRepository: "m", serviceWorker: false, allowMetrics: false },
      PAGE,
    );
    expect(without.serviceWorker).toBe(false);
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

  it.each(["app/", "/app", "", "https://example.test/", "//other.test/", "/app?/"])(
    "refuses the base '%s'",
    (base) => {
      expect(() => resolveSettings({ modelRepository: "m", base }, PAGE)).toThrow(
        /'base' must be a path from the root of the site, with slashes at both ends/,
      );
    },
  );

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
    [{ requestRateLimit: "fast" }, /request rate limit 'fast' is neither 'off' nor/],
    [{ traceConfig: "mode=opentelemetry" }, /a page exports no spans/],
    [{ traceConfig: ["level=all"] }, /invalid value for trace level option: all/],
    [{ cacheConfig: "size=1" }, /is not of the form <cache name>,<setting>=<value>/],
    [{ cacheConfig: ["local,size=1", "redis,host=x"] }, /multiple cache configurations/],
    [{ cacheConfig: "local,size=1", responseCacheByteSize: 1 }, /Incompatible options/],
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

  it.each([
    [{}, { kind: "none" }],
    [{ cacheConfig: "local,size=8192" }, { kind: "local", byteSize: 8192 }],
    [{ cacheConfig: ["local,size=8192"] }, { kind: "local", byteSize: 8192 }],
    [{ responseCacheByteSize: 8192 }, { kind: "local", byteSize: 8192 }],
    [{ responseCacheByteSize: 0 }, { kind: "none" }],
  ])("%j is the cache %j", (options, expected) => {
    const { server } = resolveSettings({ modelRepository: "m", ...options }, PAGE);
    expect(server.cacheConfig).toEqual(expected);
  });

  it("limits nothing unless it is told to", () => {
    expect(resolveSettings({ modelRepository: "m" }, PAGE).server).toMatchObject({
      rateLimit: "off",
      rateLimitResources: [],
      requestRateLimit: { kind: "none" },
      maxInflightBytes: 0,
    });
    const limits = {
      rateLimit: "execution_count",
      rateLimitResources: [{ name: "gpu", count: 1, device: 0 }],
      maxInflightBytes: 1024,
    } as const;
    const { server } = resolveSettings({ modelRepository: "m", requestRateLimit: "5:1", ...limits }, PAGE);
    expect(server).toMatchObject({
      ...limits,
      requestRateLimit: { kind: "rate", requestsPerSecond: 5, burst: 1 },
    });
  });

  it.each([
    ["modelRepository", { modelRepository: "http://" }],
    ["modelRepository", { modelRepository: ["m", { url: "http://" }] }],
    ["assets", { assets: "http://" }],
    ["serviceWorker", { serviceWorker: "http://" }],
  ])("names the option '%s' that is no URL", (name, options) => {
    expect(() => resolveSettings({ modelRepository: "m", ...options }, PAGE)).toThrow(
      new RegExp(`^startServer's option '${name}' must be a URL, but it is 'http://`),
    );
  });

  it("refuses an empty list of repositories", () => {
    expect(() => resolveSettings({ modelRepository: [] }, PAGE)).toThrow(
      /'modelRepository' must be the repository's URL/,
    );
  });
});
