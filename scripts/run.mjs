#!/usr/bin/env node
// The one entry of `npm start`, `npm test` and `npm run ...`. It runs on a fresh clone with nothing but Node.js, so it and
// everything under scripts/lib is plain JavaScript without dependencies; what comes after the install is TypeScript.
import { ensureInstalled, requireNode } from "./lib/install.mjs";
import { run, runTsx } from "./lib/exec.mjs";

const COMMANDS = {
  start: { about: "build everything and serve the playground and the /v2 API", main: start },
  dev: { about: "serve the playground with hot reload", main: dev },
  test: { about: "run every check and test", main: (args) => runTsx("scripts/check-all.ts", args) },
  build: { about: "build the naiad package", main: () => runTsx("scripts/build-naiad.ts", []) },
  models: {
    about: "write the sample and fixture models to public/models",
    main: () => runTsx("scripts/prepare-models.ts", []),
  },
  bench: { about: "run the end-to-end benchmarks and print their table", main: bench },
  "bench:json": {
    about: "print how fast JSON tensors are read and written, beside the engine's own JSON",
    main: () => runTsx("packages/protocol/bench/json.bench.ts", []),
  },
  "bench:scheduling": {
    about: "print what a request costs in the schedulers and in the server alone, by how many are queued",
    main: (args) => runTsx("packages/core/bench/scheduling.bench.ts", args),
  },
  "bench:clock": {
    about: "print how exactly the host's clock wakes in a browser, in a hidden tab too",
    main: () => runTsx("packages/runtime/bench/clock.bench.ts", []),
  },
  "bench:grpc": {
    about: "print what an inference request costs over gRPC, beside HTTP",
    main: () => runTsx("packages/runtime/bench/grpc.bench.ts", []),
  },
  "bench:perf": {
    about: "print pairs of perf_analyzer and naiad perf against naiad serve",
    main: benchPerf,
  },
  conformance: { about: "run the conformance suites on a folder of test data", main: conformance },
  "test:clients": {
    about: "try programs of others against naiad serve and the SDK: tritonclient, perf_analyzer, MLServer",
    main: testClients,
  },
  naiad: { about: "run the naiad command from this checkout", main: naiad },
};

async function start(args) {
  await runTsx("scripts/prepare-models.ts", []);
  await runTsx("scripts/build-naiad.ts", []);
  await run("node", ["node_modules/vite/bin/vite.js", "build", "--logLevel", "warn"]);
  console.log(
    '\nOpen this page: it starts the server, and then answers fetch("/v2/...") itself, in that tab.',
  );
  await run("node", ["node_modules/vite/bin/vite.js", "preview", ...args]);
}

async function dev(args) {
  await runTsx("scripts/prepare-models.ts", []);
  await runTsx("scripts/build-naiad.ts", []);
  await run("node", ["node_modules/vite/bin/vite.js", ...args]);
}

async function bench(args) {
  await runTsx("scripts/prepare-models.ts", []);
  await runTsx("scripts/build-naiad.ts", []);
  await runTsx("e2e/bench/run-bench.ts", args);
}

async function benchPerf(args) {
  await runTsx("scripts/prepare-models.ts", []);
  await runTsx("scripts/build-naiad.ts", ["--quiet"]);
  await runTsx("scripts/bench-perf.ts", args);
}

async function conformance(args) {
  const [folder] = args;
  if (folder === undefined) throw new Error("usage: npm run conformance -- <folder with the test data>");
  // One suite runs in a browser, with the package as its users have it.
  await runTsx("scripts/build-naiad.ts", ["--quiet"]);
  await runTsx("scripts/conformance.ts", args);
}

async function testClients(args) {
  await runTsx("scripts/prepare-models.ts", []);
  await runTsx("scripts/build-naiad.ts", ["--quiet"]);
  await runTsx("scripts/test-clients.ts", args);
}

async function naiad(args) {
  await runTsx("scripts/build-naiad.ts", ["--quiet"]);
  await run("node", ["packages/naiad/bin/naiad.js", ...args], { cwd: process.env.INIT_CWD });
}

const [name = "", ...args] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (command === undefined) {
  const lines = Object.entries(COMMANDS).map(([key, { about }]) => `  npm run ${key.padEnd(12)} ${about}`);
  console.error(`unknown command '${name}'. Known ones:\n${lines.join("\n")}`);
  process.exitCode = 2;
} else {
  try {
    requireNode();
    await ensureInstalled();
    await command.main(args);
  } catch (error) {
    if (error?.exitCode === undefined) console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = error?.exitCode ?? 1;
  }
}
