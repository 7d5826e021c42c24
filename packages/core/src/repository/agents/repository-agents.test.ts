import { createHash } from "node:crypto";
import { createServerBench, echoedValue, echoModel, quickDigest } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { CHUNK_SIZE } from "../../ports.ts";

const WEIGHTS = "version 1";
const MD5 = createHash("md5").update(WEIGHTS).digest("hex");
const SHA256 = await quickDigest.sha256(new TextEncoder().encode(WEIGHTS));

function agent(name: string, parameters: Readonly<Record<string, string>> = {}): string {
  const entries = Object.entries(parameters).map(
    ([key, value]) => `parameters { key: "${key}" value: "${value}" }`,
  );
  return `model_repository_agents { agents { name: "${name}" ${entries.join(" ")} } }`;
}

describe("the checksum agent", () => {
  it.each([
    ["MD5", { "MD5:1/model.fake": MD5 }],
    ["md5 in lower case", { "md5:./1/model.fake": MD5 }],
    ["SHA-256", { "SHA256:1/model.fake": SHA256 }],
    ["several files", { "MD5:1/model.fake": MD5, "sha-256:1/model.fake": SHA256 }],
    ["nothing", {}],
  ])("lets a model load whose files have the digests: %s", async (_what, parameters) => {
    const bench = createServerBench({ models: { m: echoModel([1], agent("checksum", parameters)) } });
    await bench.start();
    await bench.load("m");
    expect(echoedValue(await bench.infer("m", 1))).toBe(1);
  });

  it.each([
    [{ "MD5:1/model.fake": "0123" }, `Mismatched MD5 hash for file 1/model.fake, expect: 0123, got: ${MD5}`],
    [
      { "sha256:1/model.fake": MD5 },
      `Mismatched SHA256 hash for file 1/model.fake, expect: ${MD5}, got: ${SHA256}`,
    ],
    [
      { "MD5:2/model.fake": MD5 },
      "failed to open text file for read 2/model.fake: No such file or directory",
    ],
    [{ "MD5:../m": MD5 }, "failed to open text file for read ../m: No such file or directory"],
    [{ "SHA1:1/model.fake": MD5 }, "Unsupported checksum algorithm: SHA1"],
    [{ "1/model.fake": MD5 }, "failed to parse key: 1/model.fake"],
  ])("refuses a model with %j", async (parameters, reason) => {
    const bench = createServerBench({ models: { m: echoModel([1], agent("checksum", parameters)) } });
    await bench.start();
    await expect(bench.load("m")).rejects.toMatchObject({
      code: "INTERNAL",
      message: `failed to load 'm', failed to poll from model repository: ${reason}`,
    });
    expect(bench.backend.creationCount).toBe(0);
    expect(await bench.index()).toEqual(["m"]);
  });

  it("reads a large file in pieces", async () => {
    const weights = Uint8Array.from({ length: 2 * CHUNK_SIZE + 3 }, (_, i) => i >> 9);
    const parameters = { "MD5:1/big": createHash("md5").update(weights).digest("hex") };
    const model = { ...echoModel([], agent("checksum", parameters)), "1/big": weights };
    const bench = createServerBench({ models: { m: model } });
    await bench.start();
    await bench.load("m");
    expect(await bench.index()).toEqual(["m:1 READY"]);
  });

  it("looks at the files of a load request", async () => {
    const bench = createServerBench();
    await bench.start();
    const config = JSON.stringify({
      backend: "fake",
      input: [{ name: "x", data_type: "TYPE_INT32", dims: [1] }],
      output: [{ name: "y", data_type: "TYPE_INT32", dims: [1] }],
      model_repository_agents: { agents: [{ name: "checksum", parameters: { "MD5:1/w": MD5 } }] },
    });
    const { signal } = new AbortController();
    const files = { "1/w": new TextEncoder().encode(`${WEIGHTS}!`) };
    await expect(
      bench.server.repositoryModelLoad({ modelName: "up", config, files }, { signal }),
    ).rejects.toThrow("Mismatched MD5 hash for file 1/w");
  });
});

describe("an agent that is not there", () => {
  it("fails the load, and what was served before goes on", async () => {
    const bench = createServerBench({ models: { m: echoModel() } });
    await bench.start();
    await bench.load("m");
    bench.repository.put("m", echoModel([1], agent("relocation")));
    await expect(bench.load("m")).rejects.toThrow(
      "failed to load 'm', failed to poll from model repository: unable to find 'libtritonrepoagent_relocation.so' " +
        "for repo agent 'relocation', searched: the agents of this server, 'checksum'",
    );
    expect(echoedValue(await bench.infer("m", 2))).toBe(2);
  });
});
