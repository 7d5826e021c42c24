import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Runs a program with this terminal; rejects with `exitCode` when it fails. Signals reach the child first. */
export function run(program, args, options = {}) {
  const file = program === "node" ? process.execPath : program;
  return new Promise((resolve, reject) => {
    const child = spawn(file, resolveScript(program, args), {
      cwd: options.cwd ?? ROOT,
      env: { ...process.env, ...options.env },
      stdio: options.stdio ?? "inherit",
      shell: options.shell ?? false,
    });
    const forward = (signal) => child.kill(signal);
    process.on("SIGINT", forward);
    process.on("SIGTERM", forward);
    child.on("error", reject);
    child.on("exit", (code, signal) => {
      process.off("SIGINT", forward);
      process.off("SIGTERM", forward);
      if (code === 0 || signal === "SIGINT" || signal === "SIGTERM") resolve();
      else
        reject(
          Object.assign(new Error(`${program} ${args.join(" ")} ended with ${code ?? signal}`), {
            exitCode: code ?? 1,
          }),
        );
    });
  });
}

function resolveScript(program, args) {
  const [script, ...rest] = args;
  return program === "node" && script !== undefined
    ? [new URL(script, `file://${ROOT}`).pathname, ...rest]
    : args;
}

/** Runs a TypeScript file of this repository. */
export function runTsx(script, args) {
  return run("node", ["node_modules/tsx/dist/cli.mjs", script, ...args]);
}
