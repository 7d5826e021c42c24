import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";

/** A message as parts that follow each other, so that raw content is copied only where they are joined. */
export type EncodedMessage = readonly Uint8Array[];

export function encodeMessage<Schema extends DescMessage>(
  schema: Schema,
  init: MessageInitShape<Schema>,
): EncodedMessage {
  return [toBinary(schema, create(schema, init))];
}

export function byteLengthOf(parts: EncodedMessage): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
