import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import {
  completeBackend,
  normalizeConfig,
  parseConfigText,
  validateConfig,
} from "../../packages/model-config/src/index.ts";
import { pipelineModels } from "./pipeline-models.ts";
import { sampleModels } from "./sample-models.ts";
import { type ModelDirectory, writeModels } from "./write-models.ts";

let models: readonly ModelDirectory[];
beforeAll(async () => {
  models = await pipelineModels();
});

const configOf = ({ files, name }: ModelDirectory): ReturnType<typeof parseConfigText> =>
  parseConfigText(String(files["config.pbtxt"]), { fileName: `${name}/config.pbtxt` });

describe("the pipelines", () => {
  it("have configurations that Triton takes", () => {
    for (const model of models) {
      const { directories = [], files, name } = model;
      const directory = { name, directories, filePaths: Object.keys(files) };
      const config = normalizeConfig(completeBackend(configOf(model), directory));
      const issues = validateConfig(config, { stage: "poll", directoryName: name, autoComplete: false });
      expect([name, ...issues]).toEqual([name]);
    }
  });

  it("consist of models that are there", async () => {
    const names = new Set([...models, ...(await sampleModels())].map(({ name }) => name));
    const steps = models.flatMap((model) => {
      const { schedulingChoice: choice } = configOf(model);
      return choice.case === "ensembleScheduling" ? choice.value.step.map(({ modelName }) => modelName) : [];
    });
    expect(steps).toHaveLength(11);
    expect(steps.filter((name) => !names.has(name))).toEqual([]);
  });

  it("bring with each module what it imports", () => {
    for (const { files, name } of models) {
      for (const [path, content] of Object.entries(files).filter(([path]) => path.endsWith(".js"))) {
        const imports = [...String(content).matchAll(/from "\.\/(.+)"/g)].map(
          ([, file]) => `1/${file ?? ""}`,
        );
        expect([name, path, ...imports.filter((file) => !(file in files))]).toEqual([name, path]);
      }
    }
  });

  it("are small enough to download on a phone", () => {
    const sizes = models.map(({ files }) =>
      Object.values(files).reduce((sum, content) => sum + Buffer.byteLength(content), 0),
    );
    expect(Math.max(...sizes)).toBeLessThan(6 * 1024 * 1024);
  });

  it("get version directories where they have no files in them", async () => {
    const target = await mkdtemp(join(tmpdir(), "naiad-pipelines-"));
    await writeModels(models, target);
    expect((await stat(join(target, "text_reading/1"))).isDirectory()).toBe(true);
    await rm(target, { recursive: true });
  });
});
