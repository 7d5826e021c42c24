import type { ConfigIssue } from "./config-issue.ts";
import { invalid } from "./config-issue.ts";
import type { ModelConfig, ModelEnsembling } from "./gen/model_config_pb.ts";
import { ENSEMBLE_PLATFORM } from "./platforms.ts";

/** What can be said about an ensemble without knowing the models it is made of. */
export function validateEnsemble(config: ModelConfig): readonly ConfigIssue[] {
  const { name } = config;
  if (config.schedulingChoice.case !== "ensembleScheduling") {
    if (config.platform !== ENSEMBLE_PLATFORM) return [];
    return [
      invalid(
        "ensemble_scheduling",
        `ensemble scheduling must be set for ensemble ${name} whose platform is ${ENSEMBLE_PLATFORM}`,
      ),
    ];
  }
  const ensemble = config.schedulingChoice.value;
  const issues: ConfigIssue[] = [];
  if (config.platform !== ENSEMBLE_PLATFORM) {
    issues.push(
      invalid(
        "platform",
        `ensemble scheduling cannot be set for model '${name}' whose platform is not ${ENSEMBLE_PLATFORM}`,
      ),
    );
  }
  if (config.instanceGroup.length > 0) {
    issues.push(invalid("instance_group", `instance group should not be specified for ensemble '${name}'`));
  }
  if (config.optimization !== undefined) {
    issues.push(invalid("optimization", `optimization should not be specified for ensemble '${name}'`));
  }
  if (config.modelWarmup.length > 0) {
    issues.push(invalid("model_warmup", `model_warmup can not be specified for ensemble '${name}'`));
  }
  if (ensemble.step.length === 0) {
    issues.push(invalid("ensemble_scheduling.step", `must specify 'step' for ensemble '${name}'`));
    return issues;
  }
  const stepIssues = validateSteps(name, ensemble);
  issues.push(...(stepIssues.length > 0 ? stepIssues : validateDataFlow(config, buildGraph(ensemble))));
  return issues;
}

function validateSteps(ensembleName: string, ensemble: ModelEnsembling): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  const written = new Set<string>();
  for (const [index, step] of ensemble.step.entries()) {
    const path = `ensemble_scheduling.step[${index}]`;
    const where = `in step ${index} of ensemble '${ensembleName}'`;
    if (step.modelName === "") issues.push(invalid(path, `must specify 'model_name' ${where}`));
    if (Object.keys(step.inputMap).length === 0)
      issues.push(invalid(path, `must specify 'input_map' ${where}`));
    if (Object.keys(step.outputMap).length === 0)
      issues.push(invalid(path, `must specify 'output_map' ${where}`));
    for (const tensor of Object.values(step.outputMap)) {
      if (written.has(tensor)) {
        issues.push(
          invalid(
            `${path}.output_map`,
            `ensemble tensor '${tensor}' can appear in an output map only once for ensemble '${ensembleName}' ` +
              `step ${index}`,
          ),
        );
      }
      written.add(tensor);
    }
  }
  return issues;
}

/** Tensors of the ensemble; an edge leads from each input of a step to each of its outputs. */
type TensorGraph = ReadonlyMap<string, TensorNode>;
interface TensorNode {
  readonly name: string;
  readonly sources: TensorNode[];
  readonly consumers: TensorNode[];
}

function buildGraph(ensemble: ModelEnsembling): TensorGraph {
  const graph = new Map<string, TensorNode>();
  const nodeOf = (name: string): TensorNode => {
    const node = graph.get(name) ?? { name, sources: [], consumers: [] };
    graph.set(name, node);
    return node;
  };
  for (const { inputMap, outputMap } of ensemble.step) {
    const outputs = Object.values(outputMap).map(nodeOf);
    for (const input of Object.values(inputMap).map(nodeOf)) {
      for (const output of outputs) {
        output.sources.push(input);
        input.consumers.push(output);
      }
    }
  }
  return graph;
}

function validateDataFlow(config: ModelConfig, graph: TensorGraph): readonly ConfigIssue[] {
  const issues: ConfigIssue[] = [];
  // The single quote that is closed but never opened is Triton's.
  const unused = (kind: string, name: string): string =>
    `ensemble ${kind} '${name}' for ensemble ${config.name}' is not used`;
  for (const [index, { name }] of config.input.entries()) {
    if (!graph.has(name)) issues.push(invalid(`input[${index}]`, unused("input", name)));
  }
  const ready = reachableTensors(config, graph);
  const outputNames = new Set(config.output.map(({ name }) => name));
  for (const [index, { name }] of config.output.entries()) {
    const node = graph.get(name);
    const path = `output[${index}]`;
    if (node === undefined) issues.push(invalid(path, unused("output", name)));
    else if (!ready.has(node)) issues.push(invalid(path, describeUnwritten(config.name, node, ready)));
  }
  for (const node of graph.values()) {
    const isUsed = outputNames.has(node.name) || (ready.has(node) && node.consumers.length > 0);
    if (!isUsed) {
      issues.push(
        invalid(
          "ensemble_scheduling",
          `ensemble tensor '${node.name}' is unused in ensemble '${config.name}'`,
        ),
      );
    }
  }
  return issues;
}

/** The fixpoint from the ensemble's inputs: a tensor is ready once everything that its step needs is. */
function reachableTensors(config: ModelConfig, graph: TensorGraph): ReadonlySet<TensorNode> {
  const ready = new Set<TensorNode>();
  const queue = config.input.flatMap(({ name }) => graph.get(name) ?? []);
  for (const node of queue) ready.add(node);
  for (const node of queue) {
    for (const consumer of node.consumers) {
      if (ready.has(consumer) || !consumer.sources.every((source) => ready.has(source))) continue;
      ready.add(consumer);
      queue.push(consumer);
    }
  }
  return ready;
}

/** Names the far end of the chain of tensors that were not ready, as a hint to the cause. */
function describeUnwritten(ensembleName: string, output: TensorNode, ready: ReadonlySet<TensorNode>): string {
  const seen = new Set<TensorNode>();
  let last = output;
  for (;;) {
    const next = last.sources.find((source) => !ready.has(source) && !seen.has(source));
    if (next === undefined) break;
    seen.add(next);
    last = next;
  }
  const text = `output '${output.name}' for ensemble '${ensembleName}' is not written`;
  if (last === output) return text;
  return `${text}: at least one of its depending tensors, '${last.name}', is not connected`;
}
