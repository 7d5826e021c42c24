import type { ConfigIssue } from "./config-issue.ts";
import type { ModelConfig } from "./gen/model_config_pb.ts";
import { joinedPath } from "./joined-path.ts";

/** Label files must lie inside the model's directory, one for each output. */
export function validateLabels(config: ModelConfig): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const labelled = new Set<string>();
  for (const [index, { name, labelFilename }] of config.output.entries()) {
    if (labelFilename === "") continue;
    const path = `output[${index}].label_filename`;
    if (joinedPath(labelFilename) === undefined) {
      issues.push({
        code: "UNSUPPORTED",
        message:
          `label file path '${config.name}/${labelFilename}' for output '${name}' in model '${config.name}' ` +
          "is outside model directory",
        path,
      });
    } else if (labelled.has(name)) {
      issues.push({ code: "INTERNAL", message: `multiple label files for '${name}'`, path });
    }
    labelled.add(name);
  }
  return issues;
}
