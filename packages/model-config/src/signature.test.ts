import { describe, expect, it } from "vitest";
import { DATATYPES } from "@naiad/protocol";
import { configDatatype, dataTypeName } from "./config-datatype.ts";
import { DataType } from "./gen/model_config_pb.ts";
import { modelSignature } from "./signature.ts";
import { parseConfigText } from "./text.ts";

const signature = (text: string) => modelSignature(parseConfigText(text, { fileName: "c" }));

describe("modelSignature", () => {
  it("has the configuration in plain numbers", () => {
    expect(
      signature(`name: "m" max_batch_size: 8
        input { name: "x" data_type: TYPE_FP32 dims: [ -1, 3 ] }
        input { name: "s" data_type: TYPE_STRING dims: 1 reshape {} optional: true allow_ragged_batch: true }
        output { name: "y" data_type: TYPE_INT64 dims: 4 reshape { shape: [2, 2] } label_filename: "labels.txt" }
        dynamic_batching { priority_levels: 3 default_priority_level: 2 }
        model_transaction_policy { decoupled: true }`),
    ).toEqual({
      name: "m",
      maxBatchSize: 8,
      inputs: [
        {
          name: "x",
          datatype: "FP32",
          dims: [-1, 3],
          optional: false,
          allowRaggedBatch: false,
          isShapeTensor: false,
        },
        {
          name: "s",
          datatype: "BYTES",
          dims: [1],
          reshape: [],
          optional: true,
          allowRaggedBatch: true,
          isShapeTensor: false,
        },
      ],
      outputs: [{ name: "y", datatype: "INT64", dims: [4], reshape: [2, 2], labelFilename: "labels.txt" }],
      decoupled: true,
      priority: { levels: 3, defaultLevel: 2 },
    });
  });

  it("gives priorities only to dynamic batching and passes them on in ensembles", () => {
    expect(signature("")).toMatchObject({ decoupled: false, priority: { levels: 0, defaultLevel: 0 } });
    expect(signature("sequence_batching {}")).toMatchObject({ priority: { levels: 0 } });
    expect(signature("ensemble_scheduling {}")).toMatchObject({
      priority: { levels: Number.MAX_SAFE_INTEGER },
    });
  });

  it("refuses sizes that no tensor can have", () => {
    expect(() => signature('input { name: "x" data_type: TYPE_FP32 dims: 9007199254740993 }')).toThrow(
      "tensor 'x' has a dimension of 9007199254740993, which is too large",
    );
  });
});

describe("configDatatype", () => {
  it("has a word of the protocol for every type but TYPE_INVALID", () => {
    const valid = Object.values(DataType).filter((dataType) => dataType !== DataType.TYPE_INVALID);
    expect(new Set(valid.map(configDatatype))).toEqual(new Set(DATATYPES));
    expect(configDatatype(DataType.TYPE_STRING)).toBe("BYTES");
    expect(() => configDatatype(DataType.TYPE_INVALID)).toThrow("unsupported data type TYPE_INVALID");
  });

  it("names types that the configuration does not know by number", () => {
    expect(dataTypeName(DataType.TYPE_BF16)).toBe("TYPE_BF16");
    const [input] = parseConfigText("input { data_type: 99 }", { fileName: "c" }).input;
    expect(input === undefined ? undefined : dataTypeName(input.dataType)).toBe("99");
  });
});
