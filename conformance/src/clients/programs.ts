import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { createServer } from "node:net";

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** For its standard input. Default: none. */
  readonly input?: string;
  /** Hears standard output line by line. */
  readonly onLine?: (line: string) => void;
}

export interface ProgramResult {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. Rejects with what it wrote where it fails or takes too long. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env, input, onLine, timeoutMs = 120_000 }: ProgramOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      ...(cwd !== undefined && { cwd }),
      env: { ...process.env, ...env },
      stdio: "pipe",
    });
    endWithThisProcess(child);
    // A program may end before it has read everything.
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    let stdout = "";
    let stderr = "";
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine?.(line);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, timeoutMs);
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once("close", (code) => {
      clearTimeout(timer);
      if (code === 0) {
        resolve({ stdout, stderr });
        return;
      }
      const end = isLate ? `did not end within ${String(timeoutMs / 1000)} s` : `ended with ${String(code)}`;
      reject(new Error(`${program} ${args.join(" ")} ${end}\n${tailOf(stdout + stderr)}`));
    });
  });
}

export interface Service {
  readonly process: ChildProcess;
  /** What it has written so far. */
  log(): string;
  stop(): Promise<void>;
}

/** Starts a program that serves, and resolves when `ready` holds of what it wrote. Rejects where it ends before. */
export async function startService(
  program: string,
  args: readonly string[],
  { cwd, env, ready, timeoutMs = 90_000 }: ProgramOptions & { readonly ready: (log: string) => boolean },
): Promise<Service> {
  const child = spawn(program, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endWithThisProcess(child);
  let log = "";
  const exited = new Promise<void>((resolve) => {
    child.once("close", () => {
      resolve();
    });
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 15_000);
    await exited;
    clearTimeout(late);
  };
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`${program} was not ready within ${String(timeoutMs / 1000)} s\n${tailOf(log)}`));
    }, timeoutMs);
    const hear = (text: Buffer): void => {
      log += text.toString();
      if (!ready(log)) return;
      clearTimeout(timer);
      resolve();
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("error", reject);
    void exited.then(() => {
      clearTimeout(timer);
      reject(new Error(`${program} ended before it was ready\n${tailOf(log)}`));
    });
  });
  return { process: child, log: () => log, stop };
}

/** Ports of the loopback interface that nobody listens on just now. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once("error", reject).listen(0, "127.0.0.1", () => {
            const address = server.address();
            resolve(typeof address === "object" && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Where this process is made to end, what it has started is told to. */
function endWithThisProcess(child: ChildProcess): void {
  const end = (): void => {
    child.kill("SIGTERM");
  };
  process.once("exit", end);
  child.once("close", () => process.off("exit", end));
}

function tailOf(text: string): string {
  return text.trimEnd().split("\n").slice(-25).join("\n");
}
