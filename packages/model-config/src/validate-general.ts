import type { ConfigIssue } from "./config-issue.ts";
import { invalid } from "./config-issue.ts";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import { ENSEMBLE_PLATFORM, isPlatformOfBackend } from "./platforms.ts";

/** Name, platform, backend, batch size and version policy. */
export function validateGeneral(config: ModelConfig): readonly ConfigIssue[] {
  const { name, platform, backend } = config;
  const issues: ConfigIssue[] = [];
  if (name === "") issues.push(invalid("name", "model configuration must specify 'name'"));
  if (backend === "" && platform !== ENSEMBLE_PLATFORM) {
    issues.push(invalid("platform", `unexpected platform type '${platform}' for ${name}`));
  } else if (backend !== "" && platform === ENSEMBLE_PLATFORM) {
    issues.push(
      invalid(
        "backend",
        `Ensemble model '${name}' must have platform type '${platform}' and empty backend type`,
      ),
    );
  } else if (!isPlatformOfBackend(platform, backend)) {
    issues.push(invalid("platform", `unexpected 'platform' and 'backend' pair, got:${platform}, ${backend}`));
  }
  if (config.maxBatchSize < 0) {
    issues.push(invalid("max_batch_size", `'max_batch_size' must be non-negative value for ${name}`));
  }
  if (config.versionPolicy === undefined) {
    issues.push(invalid("version_policy", `must specify 'version policy' for ${name}`));
  }
  return issues;
}

/** Response cache and metrics, which Triton looks at last. */
export function validateExtras(config: ModelConfig): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  if (config.modelTransactionPolicy?.decoupled === true && config.responseCache?.enable === true) {
    issues.push(
      invalid(
        "response_cache",
        `Response Cache does not currently support model ${config.name} with 'decoupled' transaction policy. ` +
          "Please disable the response cache.",
      ),
    );
  }
  for (const [index, control] of (config.modelMetrics?.metricControl ?? []).entries()) {
    const path = `model_metrics.metric_control[${index}]`;
    if (control.metricIdentifier === undefined) {
      issues.push(invalid(path, "metric control must specify 'metric_identifier'"));
    } else if (control.metricIdentifier.family === "") {
      issues.push(invalid(path, "metric identifier must specify non-empty 'family'"));
    }
    if (control.metricOptions.case === undefined) {
      issues.push(invalid(path, "metric control must specify 'histogram_options'"));
    } else if (control.metricOptions.value.buckets.length === 0) {
      issues.push(invalid(path, "histogram options must specify non-empty 'buckets'"));
    }
  }
  return issues;
}
