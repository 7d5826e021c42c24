import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openFolder, openStand, perf, QUICK } from "../../../test/perf-stand.ts";

describe("naiad perf", () => {
  it("sends what it is told, in binary or as JSON", async () => {
    const stand = await openStand();
    const folder = await openFolder();
    const file = join(folder, "data.json");
    await writeFile(file, '{"data":[{"x":[1,2],"parameters":{"p":1}},{"x":[3,4]}]}');
    const common = [...QUICK, "-u", `http://${stand.url}/`, "--request-count", "2"];
    await perf(
      ...common,
      "--input-data",
      file,
      "-b",
      "2",
      "-H",
      "x-key: secret",
      "-x",
      "1",
      "--request-parameter",
      "q:5:int",
    );
    const [first] = stand.requests;
    expect(first?.url).toBe("/v2/models/m/versions/1/infer");
    expect(first?.headers["x-key"]).toBe("secret");
    const length = Number(first?.headers["inference-header-content-length"]);
    const header = JSON.parse(first?.body.subarray(0, length).toString() ?? "") as object;
    expect(header).toMatchObject({
      parameters: { q: 5, p: 1, binary_data_output: true },
      inputs: [{ name: "x", shape: [2, 2], datatype: "INT32", parameters: { binary_data_size: 16 } }],
    });
    expect([...(first?.body.subarray(length) ?? [])]).toEqual([
      1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0,
    ]);

    await perf(
      ...common,
      "--input-data",
      file,
      "--input-tensor-format",
      "json",
      "--output-tensor-format",
      "json",
    );
    expect(JSON.parse(stand.requests.at(-1)?.body.toString() ?? "")).toMatchObject({
      inputs: [{ data: [3, 4] }],
    });
  });

  it("takes a directory with a file for each input", async () => {
    const stand = await openStand();
    const folder = await openFolder();
    const directory = await mkdtemp(join(folder, "inputs-"));
    await writeFile(join(directory, "x"), Buffer.from(Int32Array.of(6, 7).buffer));
    await perf("-m", "m", "-u", stand.url, "--request-count", "1", "--data-directory", directory);
    const { body, headers } = stand.requests[0] ?? {};
    const content = body?.subarray(Number(headers?.["inference-header-content-length"]));
    expect([...(content ?? [])]).toEqual([6, 0, 0, 0, 7, 0, 0, 0]);
  });

  it("compares outputs with validation_data, and fails where they differ", async () => {
    const stand = await openStand();
    const folder = await openFolder();
    const file = join(folder, "data.json");
    await writeFile(file, '{"data":[{"x":[1,2]}],"validation_data":[{"y":[5]}]}');
    const argv = ["-m", "m", "-u", stand.url, "--request-count", "2", "--input-data", file];
    const { code, error } = await perf(...argv);
    expect(code).toBe(1);
    expect(error).toEqual(["naiad perf: Output doesn't match expected output: there is no output 'y'"]);
  });
});
