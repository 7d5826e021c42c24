import type { TunnelAsker } from "@naiad/link/tunnel";
import type { RepositoryIndexEntry, TraceSettingsUpdate } from "@naiad/protocol";
import type { LogLine } from "./serve-log.ts";

/** What the command asks the host in the browser, beside what comes in at the ports. */
export interface HostQuestions {
  /** Resolves when the models of the start are loaded; rejects where the server ended over one. */
  ready(): Promise<void>;
  /** Resolves when the host has drained and ended. */
  stop(): Promise<void>;
  index(): Promise<readonly RepositoryIndexEntry[]>;
  setTrace(update: TraceSettingsUpdate): Promise<void>;
  /** The lines of its log from the first on, until the tunnel is gone. */
  log(): AsyncIterable<LogLine>;
}

const NEVER = new AbortController().signal;

export function askHost(tunnel: TunnelAsker): HostQuestions {
  async function* ask(target: string, body = ""): AsyncGenerator<string, void> {
    const answer = await tunnel.exchange({
      protocol: "control",
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
    setTrace: async (update) => {
      await whole("/trace", JSON.stringify(update));
    },
    async *log() {
      let rest = "";
      for await (const text of ask("/log")) {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) yield JSON.parse(line) as LogLine;
      }
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield await Promise.resolve(bytes);
}
