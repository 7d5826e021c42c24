import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

// Generates the code from the proto file once more and fails when the committed code differs.

const packageFolder = join(dirname(fileURLToPath(import.meta.url)), "..");
const generatedPath = join("src", "gen");

function generateInto(folder: string): void {
  const binaries = join(packageFolder, "node_modules", ".bin");
  const { status, error } = spawnSync(join(binaries, "buf"), ["generate", "--output", folder], {
    cwd: packageFolder,
    stdio: "inherit",
    env: { ...process.env, PATH: `${binaries}${delimiter}${process.env["PATH"] ?? ""}` },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`buf generate ended with status ${String(status)}`);
}

function readFolder(folder: string): ReadonlyMap<string, string> {
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

function differingFiles(
  committed: ReadonlyMap<string, string>,
  fresh: ReadonlyMap<string, string>,
): string[] {
  const names = new Set([...committed.keys(), ...fresh.keys()]);
  return [...names].filter((name) => committed.get(name) !== fresh.get(name));
}

const temporary = mkdtempSync(join(tmpdir(), "naiad-generated-"));
try {
  generateInto(temporary);
  const differing = differingFiles(
    readFolder(join(packageFolder, generatedPath)),
    readFolder(join(temporary, generatedPath)),
  );
  if (differing.length > 0) {
    console.error(
      `Generated code is stale: ${differing.join(", ")}. Run "pnpm --filter @naiad/model-config generate".`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(temporary, { recursive: true });
}
