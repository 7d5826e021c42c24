import type { ModelConfig } from "@naiad/model-config";
import type { RequestRateLimit } from "@naiad/protocol";
import { InferenceError, parseRequestRateLimit } from "@naiad/protocol";
import type { RequestRate } from "./token-bucket.ts";

/** Limits of the requests to one model. */
export interface RequestRates {
  /** For all of them together. */
  readonly model: RequestRate | undefined;
  /** By priority level, for those of that level. */
  readonly levels: ReadonlyMap<number, RequestRate>;
}

const KEY = "request_rate_limit";
const LEVEL_KEY = /^request_rate_limit_priority_(?<level>\d+)$/;

/**
 * What the model's parameters `request_rate_limit` and `request_rate_limit_priority_<level>` say; for the model as a whole
 * `otherwise` where they say nothing. INVALID_ARG for what is no limit and for a level that the model does not have.
 */
export function requestRatesOf(config: ModelConfig, otherwise: RequestRateLimit): RequestRates {
  const levelCount =
    config.schedulingChoice.case === "dynamicBatching"
      ? Number(config.schedulingChoice.value.priorityLevels)
      : 0;
  let model = otherwise;
  const levels = new Map<number, RequestRate>();
  for (const [key, { stringValue }] of Object.entries(config.parameters)) {
    const level = LEVEL_KEY.exec(key)?.groups?.["level"];
    if (key === KEY) model = readLimit(config.name, key, stringValue);
    if (level === undefined) continue;
    if (Number(level) < 1 || Number(level) > levelCount) {
      throw new InferenceError(
        "INVALID_ARG",
        `parameter '${key}' of model '${config.name}' is about a priority level that the model does not have: ` +
          `its priority_levels is ${levelCount}`,
      );
    }
    const limit = rateOf(readLimit(config.name, key, stringValue));
    if (limit !== undefined) levels.set(Number(level), limit);
  }
  return { model: rateOf(model), levels };
}

function rateOf(limit: RequestRateLimit): RequestRate | undefined {
  return limit.kind === "rate" ? limit : undefined;
}

function readLimit(modelName: string, key: string, text: string): RequestRateLimit {
  try {
    return parseRequestRateLimit(text);
  } catch (thrown) {
    const { message } = InferenceError.from(thrown);
    throw new InferenceError("INVALID_ARG", `parameter '${key}' of model '${modelName}': ${message}`, {
      cause: thrown,
    });
  }
}
