import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { assembleModules } from "./assemble-modules.ts";

/** Addresses that tell what they stand for: `<1>`, `<2>` in the order in which they were made. */
async function assembled(files: Readonly<Record<string, string>>, entry = "1/model.js") {
  const made: string[] = [];
  const { entryUrl, paths } = await assembleModules(
    entry,
    {
      paths: Object.keys(files),
      read: (path) => Promise.resolve(new TextEncoder().encode(files[path] ?? "")),
    },
    (source, type) => {
      made.push(type === "text/javascript" ? source : `${type} ${source}`);
      return `blob:${made.length}`;
    },
  );
  return { made, entryUrl, paths: Object.fromEntries(paths) };
}

describe("modules without a server", () => {
  it("import each other by the addresses of their texts", async () => {
    const { made, entryUrl, paths } = await assembled({
      "1/model.js": `import { a } from "./lib/a.js";\nexport * from '../shared.mjs';\nconst b = await import("./b.js");`,
      "1/lib/a.js": `import "../b.js"; // "./b.js"\nexport const a = "./b.js";`,
      "1/b.js": "export {};",
      "shared.mjs": `import words from "./words.json" with { type: "json" };`,
      "words.json": "[1]",
    });
    expect(entryUrl).toBe("blob:5");
    const byPath = Object.fromEntries(
      Object.entries(paths).map(([url, path]) => [path, made[Number(url.slice(5)) - 1]]),
    );
    const at = Object.fromEntries(Object.entries(paths).map(([url, path]) => [path, url]));
    expect(byPath).toEqual({
      "1/model.js": `import { a } from "${at["1/lib/a.js"]}";\nexport * from '${at["shared.mjs"]}';\nconst b = await import("${at["1/b.js"]}");`,
      "1/lib/a.js": `import "${at["1/b.js"]}"; // "./b.js"\nexport const a = "./b.js";`,
      "1/b.js": "export {};",
      "shared.mjs": `import words from "${at["words.json"]}" with { type: "json" };`,
      "words.json": "application/json [1]",
    });
  });

  it("leave whole addresses, expressions and import.meta alone", async () => {
    const source = `import "https://example.test/a.js"; import(name); import.meta.url; import("data:text/javascript,");`;
    expect((await assembled({ "1/model.js": source })).made).toEqual([source]);
  });

  it.each<[string, Readonly<Record<string, string>>]>([
    [
      "1/model.js:1:8 imports 'lodash', which is no file of the model: give the file's path ('./…'), and bundle what comes from packages",
      { "1/model.js": `import "lodash";` },
    ],
    [
      "1/lib.js:2:15 imports './gone.js', and the model has no such file",
      { "1/model.js": `import "./lib.js";`, "1/lib.js": `\nawait import( "./gone.js");` },
    ],
    [
      "1/model.js:1:8 imports '../../secret.js', and the model has no such file",
      { "1/model.js": `import "../../secret.js";`, "secret.js": "" },
    ],
    [
      `1/model.js:2:16 imports './words.json', which is no script: write with { type: "json" } behind it`,
      { "1/model.js": `\nimport a from  "./words.json";`, "1/words.json": "[]" },
    ],
    [
      "modules import each other in a circle ('1/a.js' -> '1/b.js' -> '1/a.js'), which works only where a service worker serves them",
      { "1/model.js": `import "./a.js";`, "1/a.js": `import "./b.js";`, "1/b.js": `import "./a.js";` },
    ],
  ])("say that %s", async (text, files) => {
    await expect(assembled(files)).rejects.toThrow(new InferenceError("INVALID_ARG", text));
  });

  it("leave a text that is none to the engine, which says what is wrong", async () => {
    expect((await assembled({ "1/model.js": "import {" })).made).toEqual(["import {"]);
  });
});
