import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT, run } from "./exec.mjs";

const MINIMUM_NODE = [20, 19];
const STAMP = join(ROOT, "node_modules", ".naiad-installed");

export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1])) return;
  throw new Error(`Naiad needs Node.js >= ${MINIMUM_NODE.join(".")}; this is ${process.versions.node}`);
}

/** Installs the workspace with the pnpm that package.json names, unless the lock file is the one installed last. */
export async function ensureInstalled() {
  const lock = await readFile(join(ROOT, "pnpm-lock.yaml"));
  const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const stamp = createHash("sha256").update(lock).update(process.version).digest("hex");
  if (existsSync(STAMP) && (await readFile(STAMP, "utf8")) === stamp) return;
  console.log("installing dependencies ...");
  await run(
    "npx",
    ["--yes", manifest.packageManager, "install", "--frozen-lockfile", "--reporter=append-only"],
    {
      shell: process.platform === "win32",
      env: { CI: "true" },
    },
  );
  await writeFile(STAMP, stamp);
}
