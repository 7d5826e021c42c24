import { InferenceError } from "@naiad/protocol";
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
      message: "TypeError: no\n\nAt:\n  1/model.js(1): setUp\n  1/model.js(3): <module>\n",
    });
  });

  it.each<[string, string]>([
    ["no default export", "found none"],
    ["export default () => 1;", "found a function that is no class"],
    ["export default { execute() {} };", "found a value of type 'Object'"],
  ])("must export a class: %s", async (source, found) => {
    await expect(
      loadCode(location(source.replace(/^no .*/, "")), { importModule, makeModuleUrl }),
    ).rejects.toThrow(
      "the default export of '1/model.js' must be a class with the method 'execute' (export default class { … }), " +
        found,
    );
  });
});

describe("modules that do not load", () => {
  const BASE = "https://app.test/v2-files/abc/";

  function directory(files: Readonly<Record<string, string>>) {
    return {
      path: "1/model.js",
      servedAt: BASE,
      files: {
        paths: Object.keys(files),
        read: (path: string) => Promise.resolve(new TextEncoder().encode(files[path])),
      },
    };
  }

  /** A service worker serves them, and the engine tells this. */
  function served(thrown: unknown, placeOf?: CodePlatform["placeOf"]): CodePlatform {
    return {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- a module may throw anything
      importModule: () => Promise.reject(thrown),
      makeModuleUrl,
      isServed: () => Promise.resolve(true),
      ...(placeOf !== undefined && { placeOf }),
    };
  }

  const notFetched = Object.assign(new TypeError(`Failed to fetch ${BASE}1/model.js`), { stack: "" });

  it.each<[string, Readonly<Record<string, string>>]>([
    [
      "1/dep.js:2:8 imports './gone.js', and the model has no such file",
      { "1/model.js": `import "./dep.js";`, "1/dep.js": `\nimport "./gone.js";` },
    ],
    [
      "1/model.js:1:15 imports 'lodash', which is no file of the model: give the file's path ('./…'), and bundle what comes from packages",
      { "1/model.js": `import _ from "lodash";` },
    ],
  ])("name file, line and column: %s", async (text, files) => {
    await expect(loadCode(directory(files), served(notFetched))).rejects.toThrow(
      new InferenceError("INVALID_ARG", text),
    );
  });

  it("name the place of a syntax error in any of them, or at least the file", async () => {
    const files = { "1/model.js": `import "./dep.js";\nimport "./model.js";`, "1/dep.js": "import {" };
    const thrown = Object.assign(new SyntaxError("Unexpected end of input"), { stack: "" });
    const place = { url: `${BASE}1/dep.js`, line: 1, column: 9 };
    await expect(
      loadCode(
        directory(files),
        served(thrown, () => place),
      ),
    ).rejects.toMatchObject({
      code: "INTERNAL",
      message: "1/dep.js:1:9: SyntaxError: Unexpected end of input",
    });
    await expect(loadCode(directory(files), served(thrown))).rejects.toThrow("1/dep.js is no module");
  });

  it("name the place where only the platform can find it, of the file that is no JavaScript", async () => {
    const files = {
      "1/model.js": `import "./a.js";\nimport "./data.json" with { type: "json" };\nimport "./b.js";`,
      "1/a.js": `import "./model.js";`,
      "1/data.json": "{",
      "1/b.js": "let b = ;",
    };
    const thrown = Object.assign(new SyntaxError("Unexpected token ';'"), { stack: "" });
    const looked: string[] = [];
    const platform = (bad: string): CodePlatform => ({
      ...served(thrown),
      placeInText: (text) => {
        looked.push(text);
        return Promise.resolve(text === bad ? { line: 1, column: 9 } : undefined);
      },
    });
    await expect(loadCode(directory(files), platform("let b = ;"))).rejects.toMatchObject({
      code: "INTERNAL",
      message: "1/b.js:1:9: SyntaxError: Unexpected token ';'",
    });
    expect(looked).toEqual([files["1/model.js"], files["1/a.js"], files["1/b.js"]]);
    await expect(loadCode(directory(files), platform("none"))).rejects.toThrow(
      /^SyntaxError: Unexpected token ';'$/,
    );
  });

  it("name their importer where they export something else, by their paths", async () => {
    const files = { "1/model.js": `import { b } from "./dep.js";`, "1/dep.js": "export const a = 1;" };
    const urls: string[] = [];
    const platform: CodePlatform = {
      importModule,
      makeModuleUrl: (source, type) => {
        const url = makeModuleUrl(source, type);
        urls.push(url);
        return url;
      },
      placeOf: () => ({ url: urls[1] ?? "", line: 1, column: 10 }),
    };
    await expect(loadCode(directory(files), platform)).rejects.toThrow(
      /^1\/model\.js:1:10: SyntaxError: The requested module '1\/dep\.js' does not provide an export named 'b'$/,
    );
  });

  it("tell what was thrown where their imports are right", async () => {
    const files = { "1/model.js": "export default class {}" };
    await expect(loadCode(directory(files), served(notFetched))).rejects.toThrow(
      new InferenceError("INTERNAL", "TypeError: Failed to fetch 1/model.js"),
    );
    await expect(loadCode(directory(files), served("a text"))).rejects.toThrow(
      new InferenceError("INTERNAL", "a text"),
    );
  });

  it("say that a policy forbids the addresses that are made of their texts", async () => {
    const platform: CodePlatform = { importModule: () => Promise.reject(notFetched), makeModuleUrl };
    await expect(loadCode(directory({ "1/model.js": "" }), platform)).rejects.toThrow(
      "script-src needs `blob:`",
    );
  });
});
