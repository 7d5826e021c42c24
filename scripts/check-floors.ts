/**
 * The border guard: a package imports only from floors below its own (docs/decisions and ARCHITECTURE.md show them), names
 * what it imports in its package.json, and no files import each other in a circle.
 */
import { readFile, readdir } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** For each package, the workspace packages that it may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  "model-config": ["protocol"],
  core: ["protocol", "model-config"],
  http: ["protocol", "core"],
  grpc: ["protocol", "model-config", "core"],
  link: ["protocol"],
  "backend-onnxruntime": ["protocol", "model-config", "core"],
  "backend-javascript": ["protocol", "model-config", "core"],
  runtime: [
    "protocol",
    "model-config",
    "core",
    "http",
    "grpc",
    "link",
    "backend-onnxruntime",
    "backend-javascript",
  ],
  client: ["protocol", "link"],
  testing: ["protocol", "model-config", "core", "link"],
  naiad: [
    "protocol",
    "model-config",
    "core",
    "http",
    "grpc",
    "link",
    "backend-onnxruntime",
    "backend-javascript",
    "runtime",
    "client",
  ],
};

interface Import {
  readonly specifier: string;
  readonly line: number;
  readonly typeOnly: boolean;
}

function importsOf(fileName: string, text: string): Import[] {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.ES2023, true);
  const found: Import[] = [];
  const add = (node: ts.Node, specifier: ts.Expression, typeOnly: boolean): void => {
    if (!ts.isStringLiteral(specifier)) return;
    const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    found.push({ specifier: specifier.text, line, typeOnly });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node, node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      add(node, node.moduleSpecifier, node.isTypeOnly);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      if (argument !== undefined) add(node, argument, false);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

async function sourceFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".d.ts"))
    .map((entry) => join(entry.parentPath, entry.name));
}

interface PackageManifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

async function checkPackage(name: string, allowed: readonly string[]): Promise<string[]> {
  const folder = join(ROOT, "packages", name);
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as PackageManifest;
  const declared = new Set(
    Object.keys({ ...manifest.dependencies, ...(name === "naiad" ? manifest.devDependencies : {}) }),
  );
  const problems: string[] = [];
  const graph = new Map<string, string[]>();
  for (const file of await sourceFiles(join(folder, "src"))) {
    const isTest = file.endsWith(".test.ts");
    const targets: string[] = [];
    for (const { specifier, line, typeOnly } of importsOf(file, await readFile(file, "utf8"))) {
      const where = `${relative(ROOT, file)}:${line}`;
      if (specifier.startsWith(".")) {
        if (!typeOnly) targets.push(resolve(dirname(file), specifier));
        continue;
      }
      if (isTest || specifier.startsWith("node:")) continue;
      const packageName = specifier
        .split("/")
        .slice(0, specifier.startsWith("@") ? 2 : 1)
        .join("/");
      const floor = packageName.startsWith("@naiad/") ? packageName.slice("@naiad/".length) : undefined;
      if (floor !== undefined && !allowed.includes(floor)) {
        problems.push(
          `${where}: '${name}' may not import '${packageName}' (allowed: ${allowed.join(", ") || "nothing"})`,
        );
      }
      if (!declared.has(packageName))
        problems.push(`${where}: '${packageName}' is not a dependency of '${name}'`);
    }
    if (!isTest) graph.set(file, targets);
  }
  return [
    ...problems,
    ...circles(graph).map(
      (circle) => `import circle: ${circle.map((file) => relative(ROOT, file)).join(" -> ")}`,
    ),
  ];
}

/** Every circle once, found by depth-first search. */
function circles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const walk = (file: string): void => {
    const start = path.indexOf(file);
    if (start >= 0) {
      found.push([...path.slice(start), file]);
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const target of graph.get(file) ?? []) walk(target);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) walk(file);
  return found;
}

const problems: string[] = [];
for (const [name, allowed] of Object.entries(MAY_IMPORT))
  problems.push(...(await checkPackage(name, allowed)));
const unknown = (await readdir(join(ROOT, "packages"))).filter((name) => !Object.hasOwn(MAY_IMPORT, name));
problems.push(
  ...unknown.map((name) => `packages/${name} stands on no floor: name it in scripts/check-floors.ts`),
);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`${Object.keys(MAY_IMPORT).length} packages keep to their floors`);
