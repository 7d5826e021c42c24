import { describe, expect, it } from "vitest";
import { loadCode } from "./load-code.ts";
import type { CodePlatform } from "./load-code.ts";

const importModule: CodePlatform["importModule"] = (url) =>
  import(/* @vite-ignore */ url) as Promise<Readonly<Record<string, unknown>>>;
const makeModuleUrl: CodePlatform["makeModuleUrl"] = (source, type) =>
  `data:${type};base64,${Buffer.from(source).toString("base64")}`;

function location(source: string) {
  return {
    path: "1/model.js",
    files: { paths: ["1/model.js"], read: () => Promise.resolve(new TextEncoder().encode(source)) },
  };
}

describe("a model's code", () => {
  it("finds `triton` from its first line on", async () => {
    const source = `
      const { Tensor } = triton;
      export default class { make() { return new Tensor("A", Float32Array.of(1)); } }`;
    const { modelClass } = await loadCode(location(source), { importModule, makeModuleUrl });
    const model = new modelClass() as unknown as { make(): { readonly datatype: string } };
    expect(model.make().datatype).toBe("FP32");
  });

  it("comes from where it is served, if that answers", async () => {
    const asked: string[] = [];
    const platform: CodePlatform = {
      importModule: (url) => {
        asked.push(url);
        return Promise.resolve({ default: Object });
      },
      makeModuleUrl: () => "blob:1",
      isServed: (url) => Promise.resolve(url.includes("up")),
    };
    const up = await loadCode({ ...location(""), servedAt: "https://up.test/v2-files/abc/" }, platform);
    await loadCode({ ...location(""), servedAt: "https://down.test/v2-files/abc/" }, platform);
    expect(asked).toEqual(["https://up.test/v2-files/abc/1/model.js", "blob:1"]);
    expect(up.pathOf("https://up.test/v2-files/abc/1/a%20b.js")).toBe("1/a b.js");
    expect(up.pathOf("https://up.test/workers/instance.js")).toBeUndefined();
  });

  it("fails with what it throws, and where", async () => {
    const throwing = `function setUp() { throw new TypeError("no"); }\n\nsetUp();`;
    await expect(loadCode(location(throwing), { importModule, makeModuleUrl })).rejects.toMatchObject({
      code: "INTERNAL",
      message: expect.stringMatching(/^TypeError: no\n\nAt:\n {2}1\/model\.js\(1\): setUp\n/),
    });
  });

  it("must export a class", async () => {
    await expect(
      loadCode(location("export const model = 1;"), { importModule, makeModuleUrl }),
    ).rejects.toThrow("module '1/model.js' has no default export that is a class");
  });
});
