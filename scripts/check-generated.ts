/** Generates the code from the proto files once more and fails where the committed code differs. */
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { ROOT, run } from "./lib/exec.mjs";

const GENERATED = join("src", "gen");

/** Packages with generated code; the script `generate` of each calls buf with these arguments. */
const PACKAGES = ["model-config", "grpc"];

interface Manifest {
  readonly scripts: { readonly generate: string };
}

async function generateInto(folder: string, packageFolder: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(packageFolder, "package.json"), "utf8")) as Manifest;
  const [command = "", ...args] = manifest.scripts.generate.split(" ");
  const binaries = join(packageFolder, "node_modules", ".bin");
  await run(join(binaries, command), [...args, "--output", folder], {
    cwd: packageFolder,
    env: { PATH: `${binaries}${delimiter}${process.env["PATH"] ?? ""}` },
  });
}

async function readFolder(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(folder);
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
}

async function checkPackage(name: string): Promise<void> {
  const packageFolder = join(ROOT, "packages", name);
  const temporary = await mkdtemp(join(tmpdir(), "naiad-generated-"));
  try {
    await generateInto(temporary, packageFolder);
    const committed = await readFolder(join(packageFolder, GENERATED));
    const fresh = await readFolder(join(temporary, GENERATED));
    const stale = [...new Set([...committed.keys(), ...fresh.keys()])].filter(
      (file) => committed.get(file) !== fresh.get(file),
    );
    if (stale.length === 0) return;
    console.error(
      `Generated code is stale: ${stale.join(", ")}. Run "pnpm --filter @naiad/${name} generate".`,
    );
    process.exitCode = 1;
  } finally {
    await rm(temporary, { recursive: true });
  }
}

for (const name of PACKAGES) await checkPackage(name);
