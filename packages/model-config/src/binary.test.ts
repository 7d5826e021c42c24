import { describe, expect, it } from "vitest";
import { decodeConfig, encodeConfig } from "./binary.ts";
import { printConfig } from "./print.ts";
import { parseConfigText } from "./text.ts";

describe("encodeConfig", () => {
  it("makes bytes that read back to the same configuration", () => {
    const config = parseConfigText(
      'name: "m" max_batch_size: 4 input { dims: [-1, 9007199254740993] reshape {} } dynamic_batching {}',
      { fileName: "c" },
    );
    expect(printConfig(decodeConfig(encodeConfig(config)))).toEqual(printConfig(config));
  });
});
