import type { LogLevel, LogSettings, LogSettingsUpdate, ServerOptions } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";

/** Which log lines there are: set at start, changed while the server runs. */
export interface LogControl {
  readonly settings: LogSettings;
  /** Throws Triton's errors, and changes nothing then. */
  update(update: LogSettingsUpdate): void;
  accepts(level: LogLevel): boolean;
}

export type LogOptions = Pick<
  ServerOptions,
  "logVerbose" | "logInfo" | "logWarning" | "logError" | "logFormat"
>;

/** `onChange` is called after each change. */
export function createLogControl(
  options: LogOptions,
  { onChange = () => undefined }: { readonly onChange?: () => void } = {},
): LogControl {
  let settings: LogSettings = {
    log_file: "",
    log_info: options.logInfo,
    log_warning: options.logWarning,
    log_error: options.logError,
    log_verbose_level: options.logVerbose,
    log_format: options.logFormat,
  };
  return {
    get settings() {
      return settings;
    },
    update: (update) => {
      settings = updated(settings, update);
      onChange();
    },
    accepts: (level) => {
      switch (level) {
        case "verbose":
          return settings.log_verbose_level > 0;
        case "info":
          return settings.log_info;
        case "warning":
          return settings.log_warning;
        case "error":
          return settings.log_error;
      }
    },
  };
}

function updated(settings: LogSettings, update: LogSettingsUpdate): LogSettings {
  const { log_file, log_info, log_warning, log_error, log_verbose_level, log_format } = update;
  if (log_file !== undefined && log_file !== null) {
    throw new InferenceError("UNSUPPORTED", "log file location can not be updated through network protocol");
  }
  if (log_format !== undefined && log_format !== null && !LOG_FORMATS.includes(log_format)) {
    throw new InferenceError("UNAVAILABLE", `invalid argument for --log_format, got: ${log_format}`);
  }
  return {
    log_file: settings.log_file,
    log_info: log_info ?? settings.log_info,
    log_warning: log_warning ?? settings.log_warning,
    log_error: log_error ?? settings.log_error,
    // Triton keeps it as an int32.
    log_verbose_level: (log_verbose_level ?? settings.log_verbose_level) | 0,
    log_format: log_format ?? settings.log_format,
  };
}

const LOG_FORMATS: readonly string[] = ["default", "ISO8601"];
