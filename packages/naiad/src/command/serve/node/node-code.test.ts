import { describe, expect, it } from "vitest";
import { nodeCode } from "./node-code.ts";

function thrown(stack: string): SyntaxError {
  return Object.assign(new SyntaxError("Unexpected token ';'"), { stack });
}

describe("code in Node.js", () => {
  it("is where its error says, when it is no JavaScript", () => {
    const stack =
      "file:///a/b.js:2\nlet a = ;\n        ^\n\nSyntaxError: Unexpected token ';'\n    at x (node:internal:1:2)";
    expect(nodeCode.placeOf?.(thrown(stack))).toEqual({ url: "file:///a/b.js", line: 2, column: 9 });
    expect(nodeCode.placeOf?.(thrown("SyntaxError: Unexpected token ';'\n    at x"))).toBeUndefined();
  });

  it("is where Node.js stops to understand its text, and nothing of it runs", async () => {
    const place = (text: string): unknown => nodeCode.placeInText?.(text);
    expect(await place('import a from "./a.js";\n\nexport const b = ;\n')).toMatchObject({
      line: 3,
      column: 18,
    });
    expect(await place("throw new Error('it ran');\nexport default 1;")).toBeUndefined();
    expect(await place("let a;\n\tlet a;")).toMatchObject({ line: 2, column: 6 });
  });

  it("has an address where it is only text", () => {
    const url = nodeCode.makeModuleUrl("export default 'ä';", "text/javascript");
    expect(url).toBe(`data:text/javascript;base64,${Buffer.from("export default 'ä';").toString("base64")}`);
  });

  it("is served where its file lies", async () => {
    expect(await nodeCode.isServed?.(import.meta.url)).toBe(true);
    expect(await nodeCode.isServed?.(`${import.meta.url}x`)).toBe(false);
    expect(await nodeCode.isServed?.("https://localhost/x.js")).toBe(false);
  });
});
