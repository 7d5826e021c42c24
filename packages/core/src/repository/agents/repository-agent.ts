import type { Digest } from "../../ports.ts";
import type { ModelMaterial } from "../model-material.ts";

export interface AgentContext {
  readonly material: ModelMaterial;
  readonly digest: Digest;
  readonly signal: AbortSignal;
}

/** Has its say about a model that is about to be loaded; rejects with the reason why it must not be. */
export type RepositoryAgent = (
  parameters: Readonly<Record<string, string>>,
  context: AgentContext,
) => Promise<void>;
