import { describe, expect, it } from "vitest";
import type { BrowserOptions } from "../options/serve-options.ts";
import { browserArguments } from "./browser-arguments.ts";
import { findBrowser } from "./find-browser.ts";
import { hasGpu } from "./has-gpu.ts";

const OPTIONS: BrowserOptions = {
  path: undefined,
  gpu: "auto",
  sandbox: "on",
  arguments: [],
};

function given(options: Partial<BrowserOptions>, hasOne = true, platform: NodeJS.Platform = "linux") {
  return browserArguments({ ...OPTIONS, ...options }, { platform, hasGpu: hasOne });
}

describe("browserArguments", () => {
  it("keep the sandbox unless told otherwise, and open no DevTools port", () => {
    expect(given({})).not.toContain("--no-sandbox");
    expect(given({ sandbox: "off" })).toContain("--no-sandbox");
    expect(given({}).filter((one) => one.startsWith("--remote-debugging"))).toEqual([
      "--remote-debugging-pipe",
    ]);
    expect(given({ arguments: ["--x"] }).at(-1)).toBe("--x");
  });

  it("ask for WebGPU where there is a GPU, and for SwiftShader only when that is wanted", () => {
    expect(given({})).toContain("--enable-unsafe-webgpu");
    expect(given({}, false)).toContain("--disable-gpu");
    expect(given({}, true, "darwin")).not.toContain("--enable-features=Vulkan");
    expect(given({ gpu: "off" })).toContain("--disable-gpu");
    const isSoftware = (one: string): boolean => one.includes("swiftshader");
    expect(given({ gpu: "software" }, false).some(isSoftware)).toBe(true);
    for (const hasOne of [true, false]) expect(given({}, hasOne).some(isSoftware)).toBe(false);
  });
});

describe("hasGpu", () => {
  it.each([
    [["null", "nvidia0"], true],
    [["card0", "renderD128"], true],
    [["dxg"], true],
    [["null", "nvidiactl", "card0"], false],
  ])("of a Linux with the devices %j is %s", (devices, expected) => {
    expect(hasGpu("linux", () => devices)).toBe(expected);
  });

  it("is taken for granted elsewhere", () => {
    expect(hasGpu("darwin", () => [])).toBe(true);
  });
});

describe("findBrowser", () => {
  it("takes what the environment names", () => {
    expect(findBrowser({ NAIAD_BROWSER: "/opt/my/chrome", PATH: "" })).toBe("/opt/my/chrome");
  });
});
