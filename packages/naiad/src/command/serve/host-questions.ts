import type { MachineMetrics } from "@naiad/core";
import type { TunnelAsker } from "@naiad/link/tunnel";
import type { RepositoryIndexEntry, TraceNote } from "@naiad/protocol";
import type { TunnelProtocol } from "@naiad/runtime/contracts";
import type { LogLine } from "./serve-log.ts";

/** What the command asks the host in the browser, beside what comes in at the ports. */
export interface HostQuestions {
  /** Resolves when the models of the start are loaded; rejects where the server ended over one. */
  ready(): Promise<void>;
  /** Resolves when the host has drained and ended. */
  stop(): Promise<void>;
  index(): Promise<readonly RepositoryIndexEntry[]>;
  /** For its metrics, until it is told something else. */
  setMachineMetrics(metrics: MachineMetrics): Promise<void>;
  /** The lines of its log from the first on, until the tunnel is gone. */
  log(): AsyncIterable<LogLine>;
  /** What there is to tell of its traces, until it has ended. Throws where the tunnel goes before. */
  traces(): AsyncIterable<TraceNote>;
}

const NEVER = new AbortController().signal;

export function askHost(tunnel: TunnelAsker): HostQuestions {
  async function* ask(
    target: string,
    body = "",
    protocol: TunnelProtocol = "control",
  ): AsyncGenerator<string, void> {
    const answer = await tunnel.exchange({
      protocol,
      method: "POST",
      rawTarget: target,
      headers: [],
      body: once(new TextEncoder().encode(body)),
      signal: NEVER,
    });
    const decoder = new TextDecoder();
    const pieces = answer.body instanceof Uint8Array ? once(answer.body) : answer.body;
    for await (const piece of pieces) yield decoder.decode(piece, { stream: true });
  }
  const whole = async (target: string, body?: string): Promise<string> => {
    let text = "";
    for await (const piece of ask(target, body)) text += piece;
    return text;
  };

  return {
    ready: async () => {
      await whole("/ready");
    },
    stop: async () => {
      await whole("/stop");
    },
    // The host is of the same build, so that what it writes has the shape.
    index: async () => JSON.parse(await whole("/index")) as readonly RepositoryIndexEntry[],
    setMachineMetrics: async (metrics) => {
      await whole("/machine", JSON.stringify(metrics));
    },
    async *log() {
      for await (const line of linesOf(ask("/log"))) yield JSON.parse(line) as LogLine;
    },
    async *traces() {
      for await (const line of linesOf(ask("/", "", "traces"))) yield JSON.parse(line) as TraceNote;
    },
  };
}

/** Those that have an end. A line may be long, and come in any number of pieces. */
async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string, void> {
  let begun: string[] = [];
  for await (const text of texts) {
    const [first = "", ...more] = text.split("\n");
    begun.push(first);
    for (const next of more) {
      yield begun.join("");
      begun = [next];
    }
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield await Promise.resolve(bytes);
}
