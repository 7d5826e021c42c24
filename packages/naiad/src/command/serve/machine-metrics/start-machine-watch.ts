import { askHost } from "../host-questions.ts";
import type { HostService } from "../host-service.ts";
import type { MachineOptions } from "../options/serve-options.ts";
import type { PartStack } from "../part-stack.ts";
import { createMachineReader } from "./machine-reader.ts";
import { machineSources } from "./machine-sources.ts";
import { watchMachine } from "./watch-machine.ts";

export interface MachineWatchParts {
  readonly options: MachineOptions;
  readonly environment: NodeJS.ProcessEnv;
  readonly service: Pick<HostService, "restarts" | "source">;
  readonly parts: Pick<PartStack, "add">;
}

/**
 * From now on the host is told of the machine that it runs on, for its metrics: whoever asks for these gets the last reading and
 * waits for none. A host that was started anew is told within an interval.
 */
export function startMachineWatch({ environment, options, parts, service }: MachineWatchParts): void {
  const over = new AbortController();
  const { signal } = over;
  const watching = watchMachine({
    reader: createMachineReader(
      machineSources({ ...options, platform: process.platform, environment, signal }),
    ),
    intervalMs: options.intervalMs,
    tell: async (metrics) => {
      const state = service.source();
      if (state.kind !== "serving") return;
      await askHost(state.tunnel).setMachineMetrics({ hostRestarts: service.restarts, ...metrics });
    },
    signal,
  });
  parts.add(() => {
    over.abort();
    return watching;
  });
}
