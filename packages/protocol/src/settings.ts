/** Trace and log settings, with the names and the kinds of values that Triton gives them: of a trace, numbers are texts. */
export interface TraceSettings {
  /** `OFF` alone, or some of `TIMESTAMPS` and `TENSORS`. */
  readonly trace_level: readonly string[];
  /** One request of so many is traced. */
  readonly trace_rate: string;
  /** How many more are traced; `-1`: no limit. */
  readonly trace_count: string;
  /** How many traces one file holds; `0`: all of them. Of the mode `triton`, as the next. */
  readonly log_frequency?: string;
  readonly trace_file?: string;
  /** `triton` or `opentelemetry`. */
  readonly trace_mode: string;
  /** What follows is of the mode `opentelemetry`. */
  readonly url?: string;
  /** Attributes, with commas between. */
  readonly resource?: string;
  readonly bsp_max_queue_size?: string;
  readonly bsp_schedule_delay?: string;
  readonly bsp_max_export_batch_size?: string;
}

/**
 * What to change. `null` gives the value up that was set before: a model goes back to the global one, the global one to
 * that of the server's start. The file cannot be changed.
 */
export interface TraceSettingsUpdate {
  readonly trace_level?: readonly string[] | null;
  readonly trace_rate?: string | null;
  readonly trace_count?: string | null;
  readonly log_frequency?: string | null;
  readonly trace_file?: string | null;
}

export interface LogSettings {
  readonly log_file: string;
  readonly log_info: boolean;
  readonly log_warning: boolean;
  readonly log_error: boolean;
  /** 0 is off. */
  readonly log_verbose_level: number;
  readonly log_format: string;
}

/** What to change; `null` is nothing. The file cannot be changed. */
export type LogSettingsUpdate = { readonly [Name in keyof LogSettings]?: LogSettings[Name] | null };
