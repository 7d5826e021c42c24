/** The published package as its users meet it: packed, linted by publint, its types resolved by every module mode. */
import { execFile } from "node:child_process";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";

const PACKAGE = fileURLToPath(new URL("../packages/naiad", import.meta.url));

/** Types are given for bundlers and for Node's `import` only: the package has no CommonJS form. */
const IGNORED_RESOLUTIONS: ReadonlySet<string> = new Set(["node10", "node16-cjs"]);

const folder = await mkdtemp(join(tmpdir(), "naiad-pack-"));
const problems: string[] = [];
try {
  await promisify(execFile)("npm", ["pack", "--pack-destination", folder, "--silent"], {
    cwd: PACKAGE,
    shell: process.platform === "win32",
  });
  const [tarball = ""] = await readdir(folder);
  const data = await readFile(join(folder, tarball));

  const manifest = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8")) as Record<
    string,
    unknown
  >;
  const { messages } = await publint({ pkgDir: PACKAGE, strict: true, pack: "npm" });
  problems.push(...messages.map((message) => `publint: ${formatMessage(message, manifest) ?? message.code}`));

  const packed = createPackageFromTarballData(new Uint8Array(data));
  const files = packed.listFiles();
  for (const name of ["grpc_service.proto", "health.proto", "model_config.proto"]) {
    if (!files.some((file) => file.endsWith(`/dist/proto/${name}`)))
      problems.push(`proto: ${name} is missing`);
  }
  const analysis = await checkPackage(packed);
  if (!analysis.types) problems.push("the package ships no types");
  else {
    for (const problem of analysis.problems) {
      const where = "resolutionKind" in problem ? problem.resolutionKind : "";
      if (!IGNORED_RESOLUTIONS.has(where)) problems.push(`types: ${problem.kind} ${where}`);
    }
  }
  console.log(`${tarball}: ${(data.length / 1000).toFixed(0)} KB`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
