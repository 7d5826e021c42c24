import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

/** A browser process that shows one page. */
export interface Browser {
  /** Resolves, with how it ended and its last words, when the process is gone. Never rejects. */
  readonly exited: Promise<string>;
  /** Resolves when the process is gone: asked first, killed when it does not listen. Idempotent. */
  close(): Promise<void>;
  /** Ends it at once, as one that hangs must be. */
  kill(): void;
}

/** A profile that is thrown away; a browser that is started anew finds the models of the one before in it. */
export interface BrowserProfile {
  open(url: string): Promise<Browser>;
  remove(): Promise<void>;
}

export interface BrowserProfileOptions {
  readonly path: string;
  readonly arguments: readonly string[];
  readonly onOutput: (line: string) => void;
}

const CLOSE_MS = 5000;
const LAST_LINES = 5;

export async function createBrowserProfile(options: BrowserProfileOptions): Promise<BrowserProfile> {
  const directory = await mkdtemp(join(tmpdir(), "naiad-browser-"));
  const startPage = join(directory, "start.html");
  return {
    async open(url) {
      // The address holds a secret, and every user of the machine sees the command lines of its processes.
      const target = JSON.stringify(url).replaceAll("<", "\\u003c");
      await writeFile(startPage, `<!doctype html><script>location.replace(${target})</script>`, {
        mode: 0o600,
      });
      const page = pathToFileURL(startPage).href;
      const process = spawn(options.path, [...options.arguments, `--user-data-dir=${directory}`, page], {
        stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
        // Ctrl-C goes to the whole group of the terminal, and the browser is still needed to drain.
        detached: globalThis.process.platform !== "win32",
      });
      return watch(process, options);
    },
    remove: () => rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  };
}

function watch(process: ChildProcess, { onOutput, path }: BrowserProfileOptions): Browser {
  const lines: string[] = [];
  const { stderr } = process;
  if (stderr !== null) {
    createInterface({ input: stderr }).on("line", (line) => {
      onOutput(line);
      lines.push(line);
      if (lines.length > LAST_LINES) lines.shift();
    });
  }
  // What it says there is of no interest, but a pipe that is not read fills up.
  for (const pipe of process.stdio.slice(3)) {
    pipe?.on("error", () => undefined);
    if (pipe !== null && pipe !== undefined && "resume" in pipe) pipe.resume();
  }
  const exited = new Promise<string>((resolve) => {
    process.once("error", (error) => {
      resolve(`'${path}' does not start: ${error.message}`);
    });
    process.once("exit", (code, signal) => {
      // Its last lines arrive after the exit.
      setTimeout(() => {
        resolve(describeExit({ code, signal, lines }));
      }, 50);
    });
  });
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    for (const pipe of process.stdio.slice(3)) pipe?.destroy();
    const late = setTimeout(() => process.kill("SIGKILL"), CLOSE_MS);
    await exited;
    clearTimeout(late);
  }

  return {
    exited,
    close: () => (closing ??= close()),
    kill: () => {
      process.kill("SIGKILL");
    },
  };
}

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly lines: readonly string[];
}

function describeExit({ code, lines, signal }: Exit): string {
  const how = signal === null ? `with code ${String(code)}` : `by signal ${signal}`;
  const words = lines.filter((line) => !/dbus|DevTools|^$/i.test(line)).join(" | ");
  const hint = /sandbox/i.test(words)
    ? "; its sandbox does not work here: allow user namespaces, or pass --no-sandbox where every model is trusted"
    : "";
  return `the browser ended ${how}${words === "" ? "" : `: ${words}`}${hint}`;
}
