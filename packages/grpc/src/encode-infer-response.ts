import type { MessageInitShape } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { byteLengthOf, type EncodedMessage, encodeMessage } from "./encode-message.ts";
import { ModelInferResponseSchema, ModelStreamInferResponseSchema } from "./gen/grpc_service_pb.ts";

type InferResponse = MessageInitShape<typeof ModelInferResponseSchema>;
type StreamResponse = MessageInitShape<typeof ModelStreamInferResponseSchema>;

/** The bytes that `encodeMessage` gives: raw content is the last field. */
export function encodeInferResponse(response: InferResponse): EncodedMessage {
  const { rawOutputContents = [] } = response;
  const { number } = ModelInferResponseSchema.field.rawOutputContents;
  return [
    ...encodeMessage(ModelInferResponseSchema, { ...response, rawOutputContents: [] }),
    ...rawOutputContents.flatMap((content) => [fieldHead(number, content.length), content]),
  ];
}

/** The bytes that `encodeMessage` gives: the response is the last field. */
export function encodeStreamResponse({ errorMessage = "", inferResponse }: StreamResponse): EncodedMessage {
  const head = encodeMessage(ModelStreamInferResponseSchema, { errorMessage });
  if (inferResponse === undefined) return head;
  const response = encodeInferResponse(inferResponse);
  const { number } = ModelStreamInferResponseSchema.field.inferResponse;
  return [...head, fieldHead(number, byteLengthOf(response)), ...response];
}

function fieldHead(number: number, byteLength: number): Uint8Array {
  return new BinaryWriter().tag(number, WireType.LengthDelimited).uint32(byteLength).finish();
}
