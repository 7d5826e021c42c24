import type { ModelConfig } from "@naiad/model-config";
import { InferenceError } from "@naiad/protocol";
import { checksumAgent } from "./checksum-agent.ts";
import type { AgentContext, RepositoryAgent } from "./repository-agent.ts";

const AGENTS: ReadonlyMap<string, RepositoryAgent> = new Map([["checksum", checksumAgent]]);

/** Runs the agents of the configuration in their order. Rejects at the first that objects or is not there. */
export async function runRepositoryAgents(
  { modelRepositoryAgents }: ModelConfig,
  context: AgentContext,
): Promise<void> {
  for (const { name, parameters } of modelRepositoryAgents?.agents ?? []) {
    const agent = AGENTS.get(name);
    if (agent === undefined) {
      throw new InferenceError(
        "INVALID_ARG",
        `unable to find 'libtritonrepoagent_${name}.so' for repo agent '${name}', searched: ` +
          `the agents of this server, ${[...AGENTS.keys()].map((known) => `'${known}'`).join(", ")}`,
      );
    }
    await agent(parameters, context);
  }
}
