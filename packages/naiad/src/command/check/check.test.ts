import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fixtureModels } from "@naiad/testing/fixture-models";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../index.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "naiad-check-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

async function put(modelName: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const full = join(root, modelName, path);
    await mkdir(path.endsWith("/") ? full : dirname(full), { recursive: true });
    if (!path.endsWith("/")) await writeFile(full, content);
  }
}

function fixture(name: string): Readonly<Record<string, string | Uint8Array>> {
  return fixtureModels().find((model) => model.name === name)?.files ?? {};
}

async function check(...argv: readonly string[]) {
  const out: string[] = [];
  const error: string[] = [];
  const clean = (line: string): string => line.replaceAll(root, "<root>");
  const code = await main(["check", ...argv], {
    out: (line) => void out.push(clean(line)),
    error: (line) => void error.push(clean(line)),
  });
  return { code, out, error };
}

describe("naiad check", () => {
  it("finds nothing against what can be served", async () => {
    for (const { name, files } of fixtureModels()) await put(name, files);
    const { code, out } = await check(root);
    expect(out).toEqual([`${fixtureModels().length} models checked: 0 errors, 0 warnings`]);
    expect(code).toBe(0);
  }, 20_000);

  it("holds configurations against the signatures of ONNX files, with what to write", async () => {
    const model = fixture("simple")["1/model.onnx"] ?? "";
    await put("s", {
      "config.pbtxt": `platform: "onnxruntime_onnx"
max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_FP32 dims: 16 }
input { name: "INPUT2" data_type: TYPE_INT32 dims: 16 }
output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 4, 4 ] }
parameters { key: "frobnicate" value { string_value: "1" } }`,
      "1/model.onnx": model,
    });
    expect(await check(root)).toEqual({
      code: 1,
      error: [],
      out: [
        "<root>/s/config.pbtxt:3:7: error: unable to load model 's', configuration expects datatype TYPE_FP32 for " +
          "input 'INPUT0', model provides TYPE_INT32",
        "    suggestion: write data_type: TYPE_INT32",
        "<root>/s/config.pbtxt:4:7: error: unexpected inference input 'INPUT2', allowed inputs are: INPUT0, INPUT1",
        '    suggestion: did you mean "INPUT0"?',
        "<root>/s/config.pbtxt:5:8: error: model 's', tensor 'OUTPUT0': the model expects 2 dimensions (shape [-1,16]) " +
          "but the model configuration specifies 3 dimensions (an initial batch dimension because max_batch_size > 0 " +
          "followed by the explicit tensor shape, making complete shape [-1,4,4])",
        "    suggestion: write dims: [ 16 ]",
        "<root>/s/config.pbtxt:6:1: warning: model 's': parameter 'frobnicate' is without effect here",
        "1 model checked: 3 errors, 1 warning",
      ],
    });
  });

  it("knows what a file is that is no ONNX model, and where one was misspelt", async () => {
    await put("lfs", { "1/model.onnx": "version https://git-lfs.github.com/spec/v1\n" });
    await put("named", { "config.pbtxt": 'backend: "onnxruntime"', "1/modle.onnx": "" });
    const { code, out } = await check(root);
    expect(code).toBe(1);
    expect(out).toEqual([
      expect.stringMatching(/^<root>\/lfs: error: failed to read ONNX model: .* it is a Git LFS pointer;/),
      "<root>/named/config.pbtxt:1:1: error: unable to find '1/model.onnx' for model instance 'named'",
      "    suggestion: did you mean '1/modle.onnx'?",
      "2 models checked: 2 errors, 0 warnings",
    ]);
  });

  it("looks for the file of a model in JavaScript, and leaves to it what it completes", async () => {
    await put("js", { "1/model.js": "export class Model { static autoCompleteConfig() {} }" });
    await put("none", { "config.pbtxt": 'backend: "javascript"', "1/main.js": "" });
    const { out } = await check(root);
    expect(out[0]).toBe(
      "<root>/none/config.pbtxt:1:1: error: unable to find '1/model.js' for model instance 'none'",
    );
    expect(out.at(-1)).toBe("2 models checked: 1 error, 0 warnings");
  });

  it("prints JSON", async () => {
    await put("m", { "config.pbtxt": "\nnam: 1", "1/model.onnx": "" });
    const { code, out } = await check("--json", root);
    expect(code).toBe(1);
    expect(JSON.parse(out.join("\n"))).toEqual({
      directory: "<root>",
      models: 1,
      errors: 1,
      warnings: 0,
      findings: [
        {
          severity: "error",
          model: "m",
          file: "<root>/m/config.pbtxt",
          line: 2,
          column: 1,
          message: 'failed to read text proto: message ModelConfig has no field "nam"',
          suggestion: 'did you mean "name"?',
        },
      ],
    });
  });

  it("tells a wrong command line from a wrong repository", async () => {
    expect((await check()).code).toBe(2);
    expect((await check(root, "other")).code).toBe(2);
    expect((await check("--frob", root)).code).toBe(2);
    expect(await check(join(root, "none"))).toEqual({
      code: 1,
      out: [],
      error: ["naiad check: no directory '<root>/none'"],
    });
    expect((await check("--help")).out[0]).toContain("Usage: naiad check [options] DIRECTORY");
    expect((await check(root)).out).toEqual(["0 models checked: 0 errors, 0 warnings"]);
  });
});
