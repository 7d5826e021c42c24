import { cpus, loadavg } from "node:os";
import { modelSignature, normalizeConfig, parseConfigText } from "@naiad/model-config";
import type { NoOpBackend } from "@naiad/testing";
import {
  createCollectingLogger,
  createNoOpBackend,
  echoRequest,
  MAX_BATCH_SIZE,
  MACHINE_CLOCK,
  noOpConfig,
  startNoOpServer,
} from "@naiad/testing";
import type { RequestOutcome } from "../src/index.ts";
import { createModelStatistics, createScheduler, startInstanceGroup } from "../src/index.ts";

/**
 * What a request costs in `core` alone: through the schedulers, and through the whole server. The model does nothing, so
 * that all of the time is ours. It is the time of all threads of the process on a CPU, which other processes disturb less
 * than the time on the wall. Depths take turns, and the cost at each is the best of its rounds: what disturbs only ever
 * adds. Each request has an AbortSignal of its own, as those of clients have.
 * Run with `npm run bench:scheduling`; a word after it picks the subjects that have it in their names.
 */
const DEPTHS = [1, 100, 1_000, 10_000, 100_000];
const REQUESTS_PER_ROUND = 100_000;
const ROUNDS = 3;

interface Target {
  readonly backend: NoOpBackend;
  /** Resolves with the answer. Level 1 is served before level 2 where the model has levels. */
  readonly send: (level: 1 | 2) => Promise<unknown>;
  readonly stop: () => Promise<void>;
}

interface Subject {
  readonly name: string;
  readonly start: () => Promise<Target>;
}

const PLAIN = "";
const BATCHING = "dynamic_batching { }";
const ORDERED = "dynamic_batching { preserve_ordering: true }";
const POLICIES =
  "dynamic_batching { priority_levels: 2 default_priority_level: 2 default_queue_policy { " +
  "default_timeout_microseconds: 1000000000 allow_timeout_override: true max_queue_size: 1000000 } }";

const SUBJECTS: readonly Subject[] = [
  { name: "default scheduler", start: () => startScheduler(PLAIN) },
  { name: "dynamic batcher", start: () => startScheduler(BATCHING) },
  { name: "dynamic batcher, preserve_ordering", start: () => startScheduler(ORDERED) },
  { name: "dynamic batcher, levels and timeouts", start: () => startScheduler(POLICIES) },
  { name: "server, default scheduler", start: () => startServer(PLAIN) },
  { name: "server, dynamic batcher", start: () => startServer(BATCHING) },
  { name: "server, levels and timeouts", start: () => startServer(POLICIES) },
];

async function startScheduler(scheduling: string): Promise<Target> {
  const config = normalizeConfig(parseConfigText(noOpConfig(scheduling), { fileName: "config.pbtxt" }));
  const backend = createNoOpBackend();
  const logger = createCollectingLogger();
  const group = await startInstanceGroup({
    modelName: "m",
    version: 1,
    placements: [{ instanceName: "m_0", device: { kind: "cpu", threads: 1 }, workerKey: "m_0" }],
    create: () => backend.create(),
    clock: MACHINE_CLOCK,
    logger,
    signal: new AbortController().signal,
  });
  const scheduler = createScheduler({
    modelName: "m",
    config,
    signature: modelSignature(config),
    group,
    statistics: createModelStatistics({ clock: MACHINE_CLOCK }),
    clock: MACHINE_CLOCK,
    logger,
  });
  const { inputs } = echoRequest("m", 1);
  return {
    backend,
    send: (priority) =>
      new Promise<RequestOutcome>((respond) => {
        const { signal } = new AbortController();
        const request = {
          id: "",
          inputs,
          outputs: ["y"],
          batchSize: 1,
          parameters: {},
          priority,
          timeoutUs: 0,
        };
        scheduler.enqueue({ request, signal, startNs: MACHINE_CLOCK.nowNs(), respond });
      }),
    stop: async () => {
      await scheduler.stop();
      await group.dispose();
    },
  };
}

async function startServer(scheduling: string): Promise<Target> {
  const backend = createNoOpBackend();
  const server = await startNoOpServer(backend, noOpConfig(scheduling));
  return {
    backend,
    send: (priority) => {
      const { signal } = new AbortController();
      return server.modelInfer({ ...echoRequest("m", 1), priority }, { signal });
    },
    stop: () => server.stop(),
  };
}

/** Brings so many requests into the queue while no instance is free, lets them go and waits for all answers. */
async function burst({ backend, send }: Target, count: number): Promise<void> {
  backend.allow(0);
  const answers = Array.from({ length: count }, () => send(1));
  backend.allow(Infinity);
  await Promise.all(answers);
}

/** Microseconds of CPU per request. */
async function costUs(work: () => Promise<void>, requests: number): Promise<number> {
  const start = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / requests;
}

/** At each depth: all that are queued are born, queued, executed and answered together. */
async function measureBursts({ start }: Subject): Promise<readonly number[]> {
  const target = await start();
  const best = DEPTHS.map(() => Infinity);
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [at, depth] of DEPTHS.entries()) {
      const cost = await costUs(async () => {
        for (let done = 0; done < REQUESTS_PER_ROUND; done += depth) await burst(target, depth);
      }, REQUESTS_PER_ROUND);
      if (round >= 0) best[at] = Math.min(cost, best[at] ?? Infinity);
    }
  }
  await target.stop();
  return best;
}

/**
 * At each depth: so many stand in the queue all the time. One batch of the higher level passes them and one of the lower
 * level leaves, and as many come.
 */
async function measureStanding({ start }: Subject): Promise<readonly number[]> {
  const best = DEPTHS.map(() => Infinity);
  for (const [at, depth] of DEPTHS.entries()) {
    const target = await start();
    target.backend.allow(0);
    for (let index = 0; index < depth + MAX_BATCH_SIZE; index += 1) void target.send(2);
    for (let round = -1; round < ROUNDS; round += 1) {
      const cost = await costUs(async () => {
        for (let done = 0; done < REQUESTS_PER_ROUND; done += 2 * MAX_BATCH_SIZE) {
          const passing: Promise<unknown>[] = [];
          for (let index = 0; index < MAX_BATCH_SIZE; index += 1) {
            passing.push(target.send(1));
            void target.send(2);
          }
          target.backend.allow(2);
          await Promise.all(passing);
        }
      }, REQUESTS_PER_ROUND);
      if (round >= 0) best[at] = Math.min(cost, best[at] ?? Infinity);
    }
    target.backend.allow(Infinity);
    await target.stop();
  }
  return best;
}

function row(name: string, costs: readonly number[]): string {
  const at = (depth: number): number => costs[DEPTHS.indexOf(depth)] ?? Number.NaN;
  const cells = [
    name,
    ...costs.map((cost) => cost.toFixed(2)),
    (at(100_000) / at(100)).toFixed(2),
    perSecond(at(1)),
    perSecond(at(100)),
  ];
  return `| ${cells.join(" | ")} |`;
}

function perSecond(cost: number): string {
  return Math.round(1e6 / cost).toLocaleString("en");
}

function head(title: string): string {
  const titles = [
    title,
    ...DEPTHS.map((depth) => depth.toLocaleString("en")),
    "100,000 / 100",
    "requests/s, one queued",
    "requests/s, 100 queued",
  ];
  const rule = titles.map((_, index) => (index === 0 ? "---" : "---:"));
  return `\n| ${titles.join(" | ")} |\n| ${rule.join(" | ")} |`;
}

const wanted = SUBJECTS.filter(({ name }) => name.includes(process.argv[2] ?? ""));
console.log(
  `Machine: ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, load ${loadavg()[0]?.toFixed(2) ?? "?"}, Node ${process.versions.node}`,
);
console.log(`Microseconds of CPU per request with so many queued; the best of ${ROUNDS} rounds.`);
console.log(head("all of them at once"));
for (const subject of wanted) console.log(row(subject.name, await measureBursts(subject)));
console.log(head("so many all the time"));
for (const subject of wanted) {
  if (subject.name.includes("levels")) console.log(row(subject.name, await measureStanding(subject)));
}
