import type { MessageInitShape } from "@bufbuild/protobuf";
import { InferenceError, type TraceSettings, type TraceSettingsUpdate } from "@naiad/protocol";
import type { TraceSettingRequest, TraceSettingResponseSchema } from "./gen/grpc_service_pb.ts";

type Settings = TraceSettingRequest["settings"];

/** `undefined`: the settings are only read. A setting without a value is given up. */
export function readTraceUpdate(settings: Settings): TraceSettingsUpdate | undefined {
  if (Object.keys(settings).length === 0) return undefined;
  // Refused, whatever else is wrong.
  if (settings["trace_file"] !== undefined) return { trace_file: null };
  const level = settings["trace_level"]?.value;
  const texts = ["trace_rate", "trace_count", "log_frequency"].flatMap((name) => {
    const values = settings[name]?.value;
    return values === undefined ? [] : [[name, onlyValue(name, values)] as const];
  });
  return {
    ...(level !== undefined && { trace_level: level.length === 0 ? null : level }),
    ...Object.fromEntries(texts),
  };
}

function onlyValue(name: string, values: readonly string[]): string | null {
  if (values.length > 1) throw new InferenceError("INVALID_ARG", `expect only 1 value for '${name}'`);
  return values[0] ?? null;
}

/** Throws the error of an update in the words that Triton has over gRPC, which differ from those over HTTP by a space. */
export function rejectAsGrpc(thrown: unknown): never {
  const error = InferenceError.from(thrown);
  const message = error.message.replace(/^(Unable to parse '\w+'\. Expecting value >= -1, got:)/, "$1 ");
  throw message === error.message ? error : new InferenceError(error.code, message, { cause: error });
}

export function writeTraceSettings(
  settings: TraceSettings,
): MessageInitShape<typeof TraceSettingResponseSchema> {
  const entries = Object.entries<string | readonly string[]>({ ...settings });
  return {
    settings: Object.fromEntries(
      entries.map(([name, value]) => [name, { value: typeof value === "string" ? [value] : [...value] }]),
    ),
  };
}
