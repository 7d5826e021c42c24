import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { makeProfileDirectory } from "./profile-directory.ts";

/** A browser process that shows one page. */
export interface Browser {
  /** Resolves, with how it ended and its last words, when the process and all that it started are gone. Never rejects. */
  readonly exited: Promise<string>;
  /** Resolves when the process is gone: asked first, killed when it does not listen. Idempotent. */
  close(): Promise<void>;
  /** Ends it and all that it started at once, as one that hangs must be. */
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
/** What it said longer ago than that has nothing to do with its end. */
const LAST_WORDS_MS = 3000;
/** Its last lines arrive after the exit, and its other processes end by themselves when it has gone. */
const AFTERMATH_MS = 50;
const IS_WINDOWS = process.platform === "win32";
/** A longer path leaves no room for the name of a socket below it. */
const LONGEST_TEMPORARY_PATH = 50;

export async function createBrowserProfile(options: BrowserProfileOptions): Promise<BrowserProfile> {
  const directory = await makeProfileDirectory();
  // What the browser makes there and leaves behind when it is killed goes with the profile.
  const temporary = join(directory, "tmp");
  await mkdir(temporary);
  const environment =
    IS_WINDOWS || temporary.length > LONGEST_TEMPORARY_PATH
      ? process.env
      : { ...process.env, TMPDIR: temporary };
  const startPage = join(directory, "start.html");
  return {
    async open(url) {
      // The address holds a secret, and every user of the machine sees the command lines of its processes.
      const target = JSON.stringify(url).replaceAll("<", "\\u003c");
      await writeFile(startPage, `<!doctype html><script>location.replace(${target})</script>`, {
        mode: 0o600,
      });
      const page = pathToFileURL(startPage).href;
      const child = spawn(options.path, [...options.arguments, `--user-data-dir=${directory}`, page], {
        stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
        env: environment,
        // A group of its own: Ctrl-C goes to that of the terminal, and the browser is still needed to drain; and what it started
        // ends with it.
        detached: !IS_WINDOWS,
      });
      return watch(child, options);
    },
    remove: () => rm(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  };
}

interface Line {
  readonly text: string;
  readonly atMs: number;
}

function watch(child: ChildProcess, { onOutput, path }: BrowserProfileOptions): Browser {
  const lines: Line[] = [];
  const { stderr } = child;
  if (stderr !== null) {
    createInterface({ input: stderr }).on("line", (text) => {
      onOutput(text);
      lines.push({ text, atMs: performance.now() });
      if (lines.length > LAST_LINES) lines.shift();
    });
  }
  // What it says there is of no interest, but a pipe that is not read fills up.
  for (const pipe of child.stdio.slice(3)) {
    pipe?.on("error", () => undefined);
    if (pipe !== null && pipe !== undefined && "resume" in pipe) pipe.resume();
  }
  const exited = new Promise<string>((resolve) => {
    child.once("error", (error) => {
      resolve(`'${path}' does not start: ${error.message}`);
    });
    child.once("exit", (code, signal) => {
      const sinceMs = performance.now() - LAST_WORDS_MS;
      setTimeout(() => {
        // One that hangs outlives it, and would hold the pipes, and with them this process, open.
        killAll(child);
        for (const pipe of child.stdio) pipe?.destroy();
        const words = lines.filter(({ atMs }) => atMs >= sinceMs).map(({ text }) => text);
        resolve(describeExit({ code, signal, lines: words }));
      }, AFTERMATH_MS);
    });
  });
  let closing: Promise<void> | undefined;

  async function close(): Promise<void> {
    for (const pipe of child.stdio.slice(3)) pipe?.destroy();
    const late = setTimeout(() => {
      killAll(child);
    }, CLOSE_MS);
    await exited;
    clearTimeout(late);
  }

  return {
    exited,
    close: () => (closing ??= close()),
    kill: () => {
      killAll(child);
    },
  };
}

/** The process and, where there are groups of processes, all that it started. */
function killAll(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (IS_WINDOWS) {
    child.kill("SIGKILL");
    return;
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nobody is left.
  }
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
