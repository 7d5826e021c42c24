import { findBrowser } from "../../../scripts/lib/browser.mjs";
import { startService } from "./programs.ts";
import type { Service } from "./programs.ts";

/** Addresses of a `naiad serve`, each as `127.0.0.1:8000`. */
export interface Served {
  readonly http: string;
  readonly grpc: string;
  readonly metrics: string;
  readonly service: Service;
}

/** Starts the built command on free ports and waits until it has loaded everything. */
export async function naiadServe(
  root: string,
  argv: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const browser = findBrowser();
  // Chromium's sandbox does not start as root in a container.
  const hasSandbox = !argv.includes("--runtime=node");
  const sandbox = hasSandbox && process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const ports = ["--http-port=0", "--grpc-port=0", "--metrics-port=0"];
  const command = ["packages/naiad/bin/naiad.js", "serve", ...ports, ...sandbox, ...argv];
  const service = await startService(process.execPath, command, {
    cwd: root,
    env: { ...environment, ...(browser !== undefined && { NAIAD_BROWSER: browser }) },
    ready: (log) => addressOf("Metrics Service", log) !== undefined,
  });
  const address = (name: string): string => addressOf(name, service.log()) ?? "";
  return {
    http: address("HTTPService"),
    grpc: address("GRPCInferenceService"),
    metrics: address("Metrics Service"),
    service,
  };
}

function addressOf(service: string, log: string): string | undefined {
  return new RegExp(`Started ${service} at (127\\.0\\.0\\.1:\\d+)`).exec(log)?.[1];
}
