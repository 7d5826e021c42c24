import type { MessageInitShape } from "@bufbuild/protobuf";
import { InferenceError, type LogSettings, type LogSettingsUpdate } from "@naiad/protocol";
import type {
  LogSettingsRequest,
  LogSettingsRequest_SettingValue,
  LogSettingsResponseSchema,
} from "./gen/grpc_service_pb.ts";

type Settings = LogSettingsRequest["settings"];
type Choice = LogSettingsRequest_SettingValue["parameterChoice"];

/** `undefined`: the settings are only read. */
export function readLogUpdate(settings: Settings): LogSettingsUpdate | undefined {
  if (Object.keys(settings).length === 0) return undefined;
  // Refused, whatever else is wrong.
  if (settings["log_file"] !== undefined) return { log_file: "" };
  const member = <Value>(name: string, read: (name: string, choice: Choice) => Value): Value | null => {
    const setting = settings[name];
    return setting === undefined ? null : read(name, setting.parameterChoice);
  };
  return {
    log_info: member("log_info", readBoolean),
    log_warning: member("log_warning", readBoolean),
    log_error: member("log_error", readBoolean),
    log_verbose_level: member("log_verbose_level", readUnsigned),
    log_format: member("log_format", readFormat),
  };
}

function readBoolean(name: string, choice: Choice): boolean {
  if (choice.case === "boolParam") return choice.value;
  throw new InferenceError("INVALID_ARG", `expect boolean for '${name}'`);
}

function readUnsigned(name: string, choice: Choice): number {
  if (choice.case === "uint32Param") return choice.value;
  throw new InferenceError("INVALID_ARG", `expect int32 for '${name}'`);
}

/** HTTP says another text, and another code, for a format that there is not. */
function readFormat(name: string, choice: Choice): string {
  if (choice.case !== "stringParam") throw new InferenceError("INVALID_ARG", `expect string for '${name}'`);
  const format = choice.value;
  if (format === "default" || format === "ISO8601") return format;
  throw new InferenceError("INVALID_ARG", `invalid argument for log_format, got: ${format}`);
}

export function writeLogSettings(settings: LogSettings): MessageInitShape<typeof LogSettingsResponseSchema> {
  const entries = Object.entries<string | number | boolean>({ ...settings });
  return {
    settings: Object.fromEntries(
      entries.map(([name, value]) => [name, { parameterChoice: choiceOf(value) }]),
    ),
  };
}

function choiceOf(value: string | number | boolean): Choice {
  if (typeof value === "string") return { case: "stringParam", value };
  return typeof value === "number" ? { case: "uint32Param", value } : { case: "boolParam", value };
}
