import { describe, expect, it } from "vitest";
import { readBackendOptions } from "./backend-options.ts";

describe("--backend-config", () => {
  it("sets the batch size of models that leave it open, for a backend before all", () => {
    const sizeOf = (...settings: string[]) => readBackendOptions(settings).defaultMaxBatchSize;
    expect(sizeOf()).toBeUndefined();
    expect(sizeOf("default-max-batch-size=8")).toBe(8);
    expect(sizeOf(",default-max-batch-size=0")).toBe(0);
    expect(sizeOf("onnxruntime,default-max-batch-size=2", "default-max-batch-size=8")).toBe(2);
    expect(sizeOf("default-max-batch-size=8", "tensorflow,default-max-batch-size=16")).toBe(8);
  });

  it("takes what is for Triton's other backends, and says that it does nothing", () => {
    const given = ["python,shm-default-byte-size=1048576", "tensorflow,version=2"];
    expect(readBackendOptions(given)).toEqual({
      defaultMaxBatchSize: undefined,
      warnings: given.map(
        (setting) =>
          `--backend-config: '${setting}' does nothing here; there is [onnxruntime,]default-max-batch-size=NUMBER`,
      ),
    });
  });

  it("is refused where it is misspelt", () => {
    const refused = (setting: string) => () => readBackendOptions([setting]);
    expect(refused("default-max-batchsize=8")).toThrow("did you mean 'default-max-batch-size'?");
    expect(refused("default-max-batch-size")).toThrow("must be [BACKEND,]NAME=VALUE");
    expect(refused("default-max-batch-size=many")).toThrow("must be a whole number, but it is 'many'");
  });
});
