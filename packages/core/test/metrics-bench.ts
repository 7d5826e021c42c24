import type { ServerBench, ServerBenchOptions } from "@naiad/testing";
import { createServerBench, echoModel, ensembleModel } from "@naiad/testing";
import parsePrometheusTextFormat from "parse-prometheus-text-format";

export const signal: AbortSignal = new AbortController().signal;
export const MS = 1_000_000;
export const CACHE = { kind: "local", byteSize: 1_000_000 } as const;

/** An ensemble `e` of two steps in one worker, in whose device memory the tensor between them stays. */
export const ON_DEVICE: ServerBenchOptions = {
  models: {
    a: echoModel(),
    b: echoModel(),
    e: ensembleModel({
      inputs: "x INT32 [1]",
      outputs: "y INT32 [1]",
      maxBatchSize: 4,
      steps: ["a: x=x > y=t", "b: x=t > y=y"],
    }),
  },
  backend: { deviceWorkerOf: () => "gpu:0", latencyNs: MS },
};

export async function served(options: ServerBenchOptions): Promise<ServerBench> {
  const bench = createServerBench(options);
  await bench.start();
  const names = Object.keys(options.models ?? {});
  const loads = Promise.all(names.map((name) => bench.load(name)));
  await bench.finish();
  await loads;
  return bench;
}

export async function textOf({ server }: ServerBench): Promise<string> {
  return (await server.serverMetrics({}, { signal })).text;
}

/** As a real parser of the format reads them: the text of each value by name and labels. */
export async function metricsOf(bench: ServerBench): Promise<ReadonlyMap<string, string>> {
  const metrics = parsePrometheusTextFormat(await textOf(bench)).flatMap((family) =>
    family.metrics.map(({ labels = {}, value = "" }): [string, string] => [
      [family.name, ...Object.entries(labels).map(([name, text]) => `${name}=${text}`)].join(" "),
      value,
    ]),
  );
  return new Map(metrics);
}

/** Values of model `m`, version 1, by name. */
export async function valuesOf(
  bench: ServerBench,
  ...names: readonly string[]
): Promise<readonly (string | undefined)[]> {
  const metrics = await metricsOf(bench);
  return names.map((name) => metrics.get(`${name} model=m version=1`));
}

export async function linesOf(bench: ServerBench, start: string): Promise<readonly string[]> {
  return (await textOf(bench)).split("\n").filter((line) => line.startsWith(start));
}

/** Requests to the echo model `m`, whose failures are of no interest. */
export function send(bench: ServerBench, count: number, more: { readonly signal?: AbortSignal } = {}): void {
  for (let sent = 0; sent < count; sent += 1) bench.infer("m", sent, more).catch(() => undefined);
}
