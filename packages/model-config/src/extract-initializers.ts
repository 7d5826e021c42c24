import { BinaryReader, BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { InferenceError } from "@naiad/protocol";
import type { OnnxInitializer } from "./onnx-initializer.ts";
import { onnxInitializerName, readOnnxInitializer } from "./onnx-initializer.ts";

export interface ExtractedInitializers {
  /** The model without them: what has an initializer no longer must be fed. */
  readonly model: Uint8Array;
  readonly initializers: readonly OnnxInitializer[];
}

/** Field numbers of onnx.proto, by message. */
const FIELD = { model: { graph: 7 }, graph: { initializer: 5 } } as const;

/**
 * Takes initializers of the model's own graph out of a `ModelProto`, so that the inputs of the same names become inputs
 * like any other. Everything else stays byte for byte. INVALID_ARG for a name that no dense initializer has. Copies the
 * model, which has been read by `readOnnxModel` before.
 */
export function extractInitializers(model: Uint8Array, names: ReadonlySet<string>): ExtractedInitializers {
  const initializers: OnnxInitializer[] = [];
  const withoutThem = replaceField(model, FIELD.model.graph, (graph) =>
    replaceField(graph, FIELD.graph.initializer, (tensor) => {
      if (!names.has(onnxInitializerName(tensor))) return tensor;
      initializers.push(readOnnxInitializer(tensor));
      return undefined;
    }),
  );
  for (const name of names) {
    if (initializers.some((initializer) => initializer.name === name)) continue;
    throw new InferenceError("INVALID_ARG", `failed to read ONNX model: there is no initializer '${name}'`);
  }
  return { model: withoutThem, initializers };
}

/** The message with each field of one number, which holds bytes, as `change` wants it; `undefined` drops the field. */
function replaceField(
  message: Uint8Array,
  number: number,
  change: (content: Uint8Array) => Uint8Array | undefined,
): Uint8Array {
  const reader = new BinaryReader(message);
  const parts: Uint8Array[] = [];
  let kept = 0;
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    if (field !== number || wireType !== WireType.LengthDelimited) {
      reader.skip(wireType, field);
      continue;
    }
    const content = reader.bytes();
    const changed = change(content);
    if (changed === content) continue;
    parts.push(message.subarray(kept, start));
    if (changed !== undefined) {
      parts.push(new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(changed).finish());
    }
    kept = reader.pos;
  }
  return parts.length === 0 ? message : concatenated([...parts, message.subarray(kept)]);
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.byteLength;
  }
  return whole;
}
