import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { MessageChannel, Worker } from "node:worker_threads";
import type { TunnelAsker } from "@naiad/link/tunnel";
import { createTunnelAsker } from "@naiad/link/tunnel";
import type { HostStart } from "@naiad/runtime/contracts";
import type { HostRuntime } from "../host-runtime.ts";
import { portLine } from "./port-line.ts";
import type { HostThreadData } from "./thread-data.ts";

export interface NodeRuntimeOptions {
  /** The host thread's script. */
  readonly script: URL;
  /** For what hosts keep. */
  readonly directory: string;
  readonly hostStart: (life: { readonly successorOf: string | undefined }) => HostStart;
  /** Lines that threads write to the console. */
  readonly onOutput: (line: string) => void;
}

/** A closed port and the end of the thread come in any order; the end says more. */
const REASON_MS = 500;

/** A thread of this process for each host; instances have threads of their own below it. */
export function createNodeRuntime(options: NodeRuntimeOptions): HostRuntime {
  const { directory, hostStart, onOutput, script } = options;
  const name = "the host thread";
  return {
    name,
    launch({ onStarted, successorOf }) {
      const start = hostStart({ successorOf });
      const { port1, port2 } = new MessageChannel();
      const data: HostThreadData = { start, tunnel: port2, directory };
      const worker = new Worker(script, {
        name: "naiad host",
        workerData: data,
        transferList: [port2],
        execArgv: [],
        stdout: true,
        stderr: true,
      });
      for (const output of [worker.stdout, worker.stderr]) eachLine(output, onOutput);
      const lost = new Promise<string>((resolve) => {
        worker.once("error", (error) => {
          resolve(`${name} failed: ${error.message}`);
        });
        worker.once("exit", (code) => {
          resolve(`${name} ended with code ${String(code)}`);
        });
      });
      const explain = (): Promise<string> =>
        Promise.race([lost, sleep(REASON_MS, "the connection was closed")]);
      const connected = new Promise<TunnelAsker>((resolve) => {
        worker.once("message", () => {
          onStarted(start.hostId);
          const line = portLine(port1, explain);
          resolve(createTunnelAsker({ line, defer: (run) => setImmediate(run), peer: name }));
        });
      });
      return {
        connected,
        lost,
        async end() {
          // Its threads end with it. What it had to put away is put away already, piece by piece.
          await worker.terminate();
          port1.close();
        },
      };
    },
  };
}

function eachLine(output: Readable, onLine: (line: string) => void): void {
  createInterface({ input: output }).on("line", onLine);
}
