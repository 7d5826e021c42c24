import { describe, expect, it } from "vitest";
import { ModelInstanceGroup_Kind as Kind } from "./gen/model_config_pb.ts";
import type { InstanceGroupContext } from "./instance-groups.ts";
import { listInstances, normalizeInstanceGroups } from "./instance-groups.ts";
import { parseConfigText } from "./text.ts";
import { validateInstanceGroups } from "./validate-instance-groups.ts";

const context = (
  gpus: readonly number[],
  preferredGroups: InstanceGroupContext["preferredGroups"] = [],
): InstanceGroupContext => ({
  gpus: { kind: "supported", ids: gpus },
  preferredGroups,
  minComputeCapability: 6,
});
const parse = (text: string) => parseConfigText(`name: "m" ${text}`, { fileName: "config.pbtxt" });
const groups = (text: string, where: InstanceGroupContext) =>
  normalizeInstanceGroups(parse(text), where).instanceGroup.map(({ name, kind, count, gpus }) => ({
    name,
    kind,
    count,
    gpus,
  }));

describe("normalizeInstanceGroups", () => {
  it("makes one group named like the model", () => {
    expect(groups('backend: "onnxruntime"', context([]))).toEqual([
      { name: "m", kind: Kind.CPU, count: 2, gpus: [] },
    ]);
    expect(groups('backend: "python"', context([]))).toEqual([
      { name: "m", kind: Kind.CPU, count: 1, gpus: [] },
    ]);
    expect(groups('backend: "onnxruntime"', context([0, 1]))).toEqual([
      { name: "m", kind: Kind.GPU, count: 1, gpus: [0, 1] },
    ]);
  });

  it("completes the groups that are given", () => {
    const text =
      'backend: "onnxruntime" instance_group [ { kind: KIND_CPU }, { name: "g", kind: KIND_GPU, count: 3 }, { gpus: 7 } ]';
    expect(groups(text, context([0]))).toEqual([
      { name: "m_0", kind: Kind.CPU, count: 2, gpus: [] },
      { name: "g", kind: Kind.GPU, count: 3, gpus: [0] },
      { name: "m_2", kind: Kind.CPU, count: 2, gpus: [7] },
    ]);
  });

  it("follows the backend's preference", () => {
    const preferences = [
      { kind: Kind.GPU, count: 2, gpus: [1, 5] },
      { kind: Kind.CPU, count: 3, gpus: [] },
    ] as const;
    expect(groups("", context([0, 1], preferences))).toEqual([
      { name: "m", kind: Kind.GPU, count: 2, gpus: [1] },
    ]);
    expect(groups("", context([], preferences))).toEqual([{ name: "m", kind: Kind.CPU, count: 3, gpus: [] }]);
    expect(groups("instance_group { kind: KIND_GPU }", context([0], preferences))).toEqual([
      { name: "m_0", kind: Kind.GPU, count: 1, gpus: [0] },
    ]);
    expect(groups("instance_group { kind: KIND_CPU }", context([0], preferences))).toMatchObject([
      { count: 3 },
    ]);
    expect(groups("", context([0], [{ kind: Kind.AUTO, count: 0, gpus: [4] }]))).toEqual([
      { name: "m", kind: Kind.CPU, count: 1, gpus: [4] },
    ]);
  });

  it("leaves ensembles without groups", () => {
    expect(groups("ensemble_scheduling {}", context([0]))).toEqual([]);
  });
});

describe("listInstances", () => {
  it("counts per GPU, number by number", () => {
    const text =
      "instance_group [ { count: 2 kind: KIND_GPU gpus: [0, 1] }, { count: 1 kind: KIND_CPU passive: true } ]";
    const config = normalizeInstanceGroups(parse(text), context([0, 1]));
    expect(listInstances(config).map(({ name, deviceId, passive }) => [name, deviceId, passive])).toEqual([
      ["m_0_0", 0, false],
      ["m_0_0", 1, false],
      ["m_0_1", 0, false],
      ["m_0_1", 1, false],
      ["m_1_0", 0, true],
    ]);
  });
});

describe("validateInstanceGroups", () => {
  const unsupported: InstanceGroupContext = { ...context([]), gpus: { kind: "unsupported" } };
  it.each([
    ["kind: KIND_CPU gpus: 0", context([0]), "has kind KIND_CPU but specifies one or more GPUs"],
    ["kind: KIND_MODEL gpus: 0", context([0]), "has kind KIND_MODEL but specifies one or more GPUs"],
    ["kind: KIND_GPU", unsupported, "has kind KIND_GPU but server does not support GPUs"],
    ["kind: KIND_GPU", context([]), "has kind KIND_GPU but no GPUs are available"],
    [
      "kind: KIND_GPU gpus: [ 0, 42 ]",
      context([0, 1]),
      "specifies invalid or unsupported gpu id 42. GPUs with at least the minimum required CUDA compute " +
        "compatibility of 6.000000 are: 0, 1",
    ],
    [
      'kind: KIND_CPU profile: "0"',
      context([]),
      "and platform specifies profile field which is only supported for TensorRT models",
    ],
  ])("%s", (group, where, fault) => {
    const config = normalizeInstanceGroups(parse(`instance_group { ${group} }`), where);
    expect(validateInstanceGroups(config, where)).toEqual([
      { code: "INVALID_ARG", message: `instance group m_0 of model m ${fault}`, path: "instance_group[0]" },
    ]);
  });

  it("wants groups that are normalised", () => {
    expect(validateInstanceGroups(parse(""), context([]))).toMatchObject([
      { message: "must specify one or more 'instance group's for m" },
    ]);
    expect(validateInstanceGroups(parse('instance_group { name: "g" }'), context([]))).toMatchObject([
      { code: "INTERNAL", message: "instance group g of model m has unexpected kind KIND_AUTO" },
    ]);
    expect(
      validateInstanceGroups(parse('instance_group { name: "g" kind: KIND_GPU }'), context([0])),
    ).toMatchObject([{ message: "instance group g of model m has kind KIND_GPU but specifies no GPUs" }]);
  });

  it("checks profiles of TensorRT models", () => {
    const text = 'platform: "tensorrt_plan" instance_group { name: "g" kind: KIND_CPU profile: ["1", "x"] }';
    expect(validateInstanceGroups(parse(text), context([]))).toMatchObject([
      { message: expect.stringContaining("specifies invalid profile x.") as string },
    ]);
  });
});
