import { create, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, it } from "vitest";
import { encodeInferResponse, encodeStreamResponse } from "./encode-infer-response.ts";
import { ModelInferResponseSchema, ModelStreamInferResponseSchema } from "./gen/grpc_service_pb.ts";

const RESPONSE = fc.record({
  modelName: fc.string(),
  modelVersion: fc.constantFrom("", "1"),
  id: fc.string(),
  parameters: fc.dictionary(
    fc.stringMatching(/^[a-z]{1,4}$/),
    fc.bigInt({ min: 0n, max: 2n ** 40n }).map((value) => ({
      parameterChoice: { case: "int64Param" as const, value },
    })),
  ),
  outputs: fc.array(
    fc.record({ name: fc.string(), datatype: fc.constant("FP32"), shape: fc.array(fc.bigInt(0n, 300n)) }),
  ),
  rawOutputContents: fc.array(fc.uint8Array({ maxLength: 300 })),
});

it("a response to infer is encoded as the library does it, content and all", () => {
  fc.assert(
    fc.property(RESPONSE, (response) => {
      const init = { ...response, rawOutputContents: response.rawOutputContents.map((one) => one.slice()) };
      expect(Buffer.concat(encodeInferResponse(init))).toEqual(
        Buffer.from(toBinary(ModelInferResponseSchema, create(ModelInferResponseSchema, init))),
      );
    }),
    { seed: 6 },
  );
});

it("a response of a stream is encoded as the library does it, with an error or without a response too", () => {
  const stream = fc.record({
    errorMessage: fc.string(),
    inferResponse: fc.option(RESPONSE, { nil: undefined }),
  });
  fc.assert(
    fc.property(stream, ({ errorMessage, inferResponse }) => {
      const init = { errorMessage, ...(inferResponse !== undefined && { inferResponse }) };
      expect(Buffer.concat(encodeStreamResponse(init))).toEqual(
        Buffer.from(toBinary(ModelStreamInferResponseSchema, create(ModelStreamInferResponseSchema, init))),
      );
    }),
    { seed: 6 },
  );
});

it("the content of a response is not copied", () => {
  const content = Uint8Array.of(1, 2, 3);
  expect(encodeInferResponse({ rawOutputContents: [content] }).some((part) => part === content)).toBe(true);
});
