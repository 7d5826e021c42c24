import { describe, expect, it } from "vitest";
import { parseConfigText } from "./text.ts";
import { listVersions, selectVersions, versionsToLoad } from "./versions.ts";

const policy = (text: string) =>
  parseConfigText(`version_policy { ${text} }`, { fileName: "config.pbtxt" }).versionPolicy;

const TOO_LARGE = ["9007199254740993", "9223372036854775807", "99999999999999999999"];

describe("listVersions", () => {
  it("takes directories of digits, from files or by themselves, in numeric order", () => {
    const directory = {
      name: "m",
      directories: [
        "9007199254740991",
        "3",
        "01",
        "0",
        "12a",
        "warmup",
        "configs",
        "initial_state",
        ...TOO_LARGE,
      ],
      filePaths: ["10/model.onnx", "2/model.onnx", "config.pbtxt", "labels.txt"],
    };
    expect(listVersions(directory).versions).toEqual([0, 2, 3, 10, 9007199254740991]);
    expect(listVersions(directory).ignored).toEqual([
      {
        name: "01",
        reason: "ignore version directory '01' which contains leading zeros in its directory name",
      },
      { name: "12a", reason: "ignore version directory '12a' which fails to convert to integral number" },
      ...["9007199254740993", "9223372036854775807"].map((name) => ({
        name,
        reason: `ignore version directory '${name}' which is beyond 9007199254740991, the largest version here`,
      })),
      {
        name: "99999999999999999999",
        reason: "ignore version directory '99999999999999999999' which fails to convert to integral number",
      },
    ]);
  });
});

describe("selectVersions", () => {
  it.each([
    ["latest { num_versions: 1 }", [10], []],
    ["latest { num_versions: 2 }", [3, 10], []],
    ["latest { num_versions: 9 }", [1, 3, 10], []],
    ["latest {}", [10], []],
    ["all {}", [1, 3, 10], []],
    ["", [1, 3, 10], []],
    ["specific { versions: [ 3, 7, 1, 3 ] }", [1, 3], [7n]],
    ["specific { versions: [ 9007199254740993, 7, 10 ] }", [10], [7n, 9007199254740993n]],
    ["specific {}", [], []],
  ])("%s", (text, versions, absent) => {
    expect(selectVersions(policy(text), [3, 10, 1])).toEqual({ versions, absent });
  });

  it("serves the latest version without a policy", () => {
    expect(selectVersions(undefined, [1, 2])).toEqual({ versions: [2], absent: [] });
    expect(selectVersions(undefined, [])).toEqual({ versions: [], absent: [] });
  });
});

describe("versionsToLoad", () => {
  it("refuses a policy that leaves nothing", () => {
    const config = parseConfigText('name: "m" version_policy { specific { versions: 4 } }', {
      fileName: "config.pbtxt",
    });
    expect(() => versionsToLoad(config, { name: "m", directories: ["1"], filePaths: [] })).toThrow(
      "at least one version must be available under the version policy of model 'm'",
    );
    expect(versionsToLoad(config, { name: "m", directories: ["4"], filePaths: [] }).versions).toEqual([4]);
  });
});
