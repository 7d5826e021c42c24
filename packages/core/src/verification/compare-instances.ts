import type { ModelConfig } from "@naiad/model-config";
import type { Tensor } from "@naiad/protocol";
import { invariant } from "@naiad/protocol";
import type { InstanceRequest, ModelInstance } from "../ports.ts";
import { compareOutputs } from "./compare-outputs.ts";
import type { Verdict } from "./verdict.ts";
import { verificationRequests } from "./verification-inputs.ts";

export interface ComparedInstances {
  readonly config: ModelConfig;
  readonly gpu: ModelInstance;
  readonly cpu: ModelInstance;
  readonly signal: AbortSignal;
}

export interface Finding {
  readonly verdict: Verdict;
  /** Whether the same would be found the next time: memory that ran out and workers that died say nothing of that. */
  readonly isLasting: boolean;
}

/** How many requests are compared. */
const ENOUGH = 2;

/**
 * Executes made-up requests on both instances of one model. What the CPU does not accept says nothing about the GPU, and
 * neither does a model that does not even agree with itself.
 */
export async function compareInstances({ config, gpu, cpu, signal }: ComparedInstances): Promise<Finding> {
  let compared = 0;
  let refusal = "its inputs are too large to be made up";
  for (const alternatives of verificationRequests(config)) {
    for (const { label, make } of alternatives) {
      signal.throwIfAborted();
      const request = make();
      const expected = await execute(cpu, request);
      if (expected.kind === "lost")
        return passing({ kind: "unknown", reason: `the CPU gave no result: ${expected.reason}` });
      if (expected.kind === "refused") {
        refusal = `the CPU does not accept made-up inputs: ${expected.reason}`;
        continue;
      }
      const actual = await execute(gpu, request);
      if (actual.kind === "lost")
        return passing({ kind: "different", reason: `it gave no result: ${actual.reason}` });
      const difference = differenceBetween(expected, actual);
      compared += 1;
      if (difference === undefined) break;
      return (await isSteady(cpu, request, expected))
        ? lasting({ kind: "different", reason: `${difference} (${label})` })
        : lasting({ kind: "unknown", reason: "its outputs are different each time" });
    }
    if (compared >= ENOUGH) break;
  }
  return lasting(compared === 0 ? { kind: "unknown", reason: refusal } : { kind: "equal" });
}

type Execution =
  | { readonly kind: "done"; readonly outputs: readonly Tensor[] }
  | { readonly kind: "refused"; readonly reason: string }
  /** Died, or ran out of something. */
  | { readonly kind: "lost"; readonly reason: string };
type Done = Extract<Execution, { readonly kind: "done" }>;

async function execute(instance: ModelInstance, request: InstanceRequest): Promise<Execution> {
  const result = await instance.execute([request]);
  if (result.kind === "lost") return { kind: "lost", reason: result.reason };
  const [outcome] = result.outcomes;
  invariant(outcome !== undefined, "there is an outcome for each request");
  if (outcome.kind === "response") return { kind: "done", outputs: outcome.outputs };
  if (outcome.kind === "reschedule") return { kind: "refused", reason: "it asks to be executed again" };
  if (outcome.kind === "decoupled") return { kind: "refused", reason: "it answers any number of times" };
  const { code, message } = outcome.error;
  return { kind: code === "UNAVAILABLE" ? "lost" : "refused", reason: message };
}

function differenceBetween(expected: Done, actual: Exclude<Execution, { kind: "lost" }>): string | undefined {
  if (actual.kind === "refused") return `it fails where the CPU does not: ${actual.reason}`;
  const comparison = compareOutputs(expected.outputs, actual.outputs);
  return comparison.kind === "equal" ? undefined : `its results are not those of the CPU: ${comparison.text}`;
}

async function isSteady(
  instance: ModelInstance,
  request: InstanceRequest,
  { outputs }: Done,
): Promise<boolean> {
  const again = await execute(instance, request);
  return again.kind === "done" && compareOutputs(outputs, again.outputs).kind === "equal";
}

function lasting(verdict: Verdict): Finding {
  return { verdict, isLasting: true };
}

function passing(verdict: Verdict): Finding {
  return { verdict, isLasting: false };
}
