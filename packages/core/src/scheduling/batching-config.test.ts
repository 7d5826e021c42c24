import type { ModelDynamicBatching, ModelSignature } from "@naiad/model-config";
import { modelSignature, normalizeConfig, parseConfigText } from "@naiad/model-config";
import type { Tensor } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { allowsPrefetching, batchingConfig, queueConfig, shapeKeyOf } from "./batching-config.ts";
import type { ValidRequest } from "./scheduler.ts";

function read(batching: string, io = ""): { batching: ModelDynamicBatching; signature: ModelSignature } {
  const text = `name: "m" backend: "fake" max_batch_size: 8 ${io} dynamic_batching { ${batching} }`;
  const config = normalizeConfig(parseConfigText(text, { fileName: "config.pbtxt" }));
  if (config.schedulingChoice.case !== "dynamicBatching") throw new Error("no dynamic batching");
  return { batching: config.schedulingChoice.value, signature: modelSignature(config) };
}

describe("batchingConfig", () => {
  it("sorts preferred sizes and counts in nanoseconds", () => {
    const { batching, signature } = read("preferred_batch_size: [8, 2, 4] max_queue_delay_microseconds: 7");
    expect(batchingConfig(batching, signature)).toEqual({
      maxBatchSize: 8,
      preferredBatchSizes: [2, 4, 8],
      maxQueueDelayNs: 7000,
    });
  });
});

describe("queueConfig", () => {
  it("reads 0 as no limit", () => {
    const { defaultPolicy } = queueConfig(read("").batching);
    expect(defaultPolicy).toEqual({
      timeoutAction: "reject",
      defaultTimeoutNs: Infinity,
      allowTimeoutOverride: false,
      maxQueueSize: Infinity,
    });
  });

  it("reads levels and their policies", () => {
    const { batching } = read(`priority_levels: 2 default_priority_level: 1
      priority_queue_policy { key: 2 value { timeout_action: DELAY default_timeout_microseconds: 3 max_queue_size: 4 } }`);
    expect(queueConfig(batching)).toMatchObject({
      priorityLevels: 2,
      defaultPriorityLevel: 1,
      levelPolicies: new Map([
        [2, { timeoutAction: "delay", defaultTimeoutNs: 3000, allowTimeoutOverride: false, maxQueueSize: 4 }],
      ]),
    });
  });
});

describe("allowsPrefetching", () => {
  it.each([
    ["", true],
    ["max_queue_delay_microseconds: 7", true],
    ["priority_levels: 2 default_priority_level: 1", false],
    ["default_queue_policy { default_timeout_microseconds: 1 }", false],
    ["default_queue_policy { allow_timeout_override: true }", false],
    ["default_queue_policy { max_queue_size: 1 }", false],
  ])("%s: %s", (batching, expected) => {
    expect(allowsPrefetching(queueConfig(read(batching).batching))).toBe(expected);
  });
});

describe("shapeKeyOf", () => {
  const request = (shapes: Readonly<Record<string, readonly number[]>>): ValidRequest => ({
    id: "",
    inputs: Object.entries(shapes).map(([name, shape]): Tensor => ({
      kind: "bytes",
      name,
      datatype: "FP32",
      shape,
      bytes: new Uint8Array(),
    })),
    outputs: [],
    batchSize: 1,
    parameters: {},
    priority: 0,
    timeoutUs: 0,
  });
  const io = `
    input { name: "fixed" data_type: TYPE_FP32 dims: [2] }
    input { name: "open" data_type: TYPE_FP32 dims: [-1, 2] }
    input { name: "other" data_type: TYPE_FP32 dims: [-1] }`;

  it("is the same for all requests where nothing can differ", () => {
    const key = shapeKeyOf(read("", `input { name: "fixed" data_type: TYPE_FP32 dims: [2] }`).signature);
    expect(key(request({ fixed: [5, 2] }))).toBe("");
  });

  it("tells open shapes apart, not batch sizes", () => {
    const key = shapeKeyOf(read("", io).signature);
    const one = key(request({ fixed: [1, 2], open: [1, 3, 2], other: [1, 4] }));
    expect(key(request({ fixed: [9, 2], open: [9, 3, 2], other: [9, 4] }))).toBe(one);
    expect(key(request({ fixed: [1, 2], open: [1, 4, 2], other: [1, 3] }))).not.toBe(one);
    expect(key(request({ fixed: [1, 2], open: [1, 3, 2], other: [1, 5] }))).not.toBe(one);
  });

  it("tells apart which optional inputs are there", () => {
    const key = shapeKeyOf(
      read("", `${io} input { name: "maybe" data_type: TYPE_FP32 dims: [1] optional: true }`).signature,
    );
    const shapes = { fixed: [1, 2], open: [1, 3, 2], other: [1, 4] };
    expect(key(request(shapes))).not.toBe(key(request({ ...shapes, maybe: [1, 1] })));
  });
});
