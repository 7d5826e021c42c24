import { describe, expect, it } from "vitest";
import { printConfig } from "./print.ts";
import { parseConfigText } from "./text.ts";

const print = (text: string): ReturnType<typeof printConfig> =>
  printConfig(parseConfigText(text, { fileName: "config.pbtxt" }));

describe("printConfig", () => {
  it("prints scalars, lists and maps always and messages only when set, in the order of the proto file", () => {
    expect(JSON.stringify(print('name: "m"'))).toBe(
      '{"name":"m","platform":"","backend":"","runtime":"","max_batch_size":0,"input":[],"output":[],' +
        '"batch_input":[],"batch_output":[],"instance_group":[],"default_model_filename":"",' +
        '"cc_model_filenames":{},"metric_tags":{},"parameters":{},"model_warmup":[]}',
    );
    expect(JSON.stringify(print("input { reshape {} }")["input"])).toBe(
      '[{"name":"","data_type":"TYPE_INVALID","format":"FORMAT_NONE","dims":[],"reshape":{"shape":[]},' +
        '"is_shape_tensor":false,"allow_ragged_batch":false,"optional":false,"is_non_linear_format_io":false}]',
    );
  });

  it("prints 64-bit integers as numbers, exact ones beyond 2^53 as bigint", () => {
    expect(
      print(`input { dims: [ -1, 9007199254740993 ] } version_policy { specific { versions: 3 } }
        dynamic_batching { max_queue_delay_microseconds: 18446744073709551615 }`),
    ).toMatchObject({
      input: [{ dims: [-1, 9007199254740993n] }],
      version_policy: { specific: { versions: [3] } },
      dynamic_batching: { max_queue_delay_microseconds: 18446744073709551615n },
    });
  });

  it("leaves as strings what Triton leaves", () => {
    expect(
      print(`sequence_batching { state { dims: 2 initial_state { dims: 2 zero_data: true } } }
        instance_group { secondary_devices { device_id: 1 } }
        optimization { cuda { graph_spec { input { key: "x" value { dim: 4 } } } } }`),
    ).toMatchObject({
      sequence_batching: { state: [{ dims: [2], initial_state: [{ dims: ["2"], zero_data: true }] }] },
      instance_group: [{ secondary_devices: [{ kind: "KIND_NVDLA", device_id: "1" }] }],
      optimization: { cuda: { graph_spec: [{ input: { x: { dim: ["4"] } } }] } },
    });
  });

  it("prints keys of integer maps as strings and unknown enum numbers as numbers", () => {
    expect(
      print("dynamic_batching { priority_queue_policy { key: 2 value {} } } input { data_type: 99 }"),
    ).toMatchObject({
      dynamic_batching: { priority_queue_policy: { "2": { default_timeout_microseconds: 0 } } },
      input: [{ data_type: 99 }],
    });
  });

  it("prints 32-bit floats with the fewest digits", () => {
    const utilization = (text: string): unknown =>
      print(`sequence_batching { direct { minimum_slot_utilization: ${text} } }`)["sequence_batching"];
    expect(utilization("0.1")).toMatchObject({ direct: { minimum_slot_utilization: 0.1 } });
    expect(utilization("0.123456789")).toMatchObject({ direct: { minimum_slot_utilization: 0.12345679 } });
    expect(utilization("inf")).toMatchObject({ direct: { minimum_slot_utilization: "Infinity" } });
  });
});
