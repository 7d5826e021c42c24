import type { ModelConfig, OnnxInitializer, OnnxModel } from "@naiad/model-config";
import { extractInitializers, onnxDataType, tryConfigDatatype } from "@naiad/model-config";
import type { BytesTensor } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import type { ExternalFile } from "./session-options.ts";

export interface OptionalInputsSource {
  readonly config: ModelConfig;
  readonly model: Uint8Array;
  readonly onnx: Pick<OnnxModel, "overridableInitializers">;
  readonly externalFiles: readonly ExternalFile[];
}

export interface OptionalInputs {
  /** The model to load. */
  readonly model: Uint8Array;
  /** What to feed where a request leaves an input out, by name. */
  readonly defaults: ReadonlyMap<string, BytesTensor>;
}

/**
 * Makes the inputs that a configuration declares `optional` inputs like any other. ONNX Runtime Web knows only those
 * inputs of a model that have no initializer, so the initializers are taken out and fed by us instead.
 */
export function optionalInputs({ config, model, onnx, externalFiles }: OptionalInputsSource): OptionalInputs {
  const overridable = new Set(onnx.overridableInitializers.map(({ name }) => name));
  const names = config.input.flatMap(({ name, optional }) =>
    optional && overridable.has(name) ? [name] : [],
  );
  if (names.length === 0) return { model, defaults: new Map() };
  const { model: rest, initializers } = extractInitializers(model, new Set(names));
  const defaults = initializers.map(
    (initializer) => [initializer.name, tensorOf(initializer, externalFiles)] as const,
  );
  return { model: rest, defaults: new Map(defaults) };
}

function tensorOf(
  { name, elementType, shape, content }: OnnxInitializer,
  externalFiles: readonly ExternalFile[],
): BytesTensor {
  const datatype = tryConfigDatatype(onnxDataType(elementType));
  if (datatype === undefined) {
    throw new InferenceError("INVALID_ARG", `initializer '${name}' has a type that Triton has no word for`);
  }
  if (content.kind === "bytes") return { kind: "bytes", name, datatype, shape, bytes: content.bytes.slice() };
  const file = externalFiles.find(({ path }) => path === content.location);
  if (file === undefined) {
    throw new InferenceError("INVALID_ARG", `initializer '${name}' lies in a file that is not there`);
  }
  const end = content.length === undefined ? undefined : content.offset + content.length;
  return { kind: "bytes", name, datatype, shape, bytes: file.bytes.slice(content.offset, end) };
}
