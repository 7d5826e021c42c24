import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { debianPackage } from "./environments.ts";
import type { Served } from "./naiad-serve.ts";
import { startService } from "./programs.ts";
import type { Tally } from "./tally.ts";

interface QueryAnswer {
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value: readonly [time: number, value: string];
    }[];
  };
}

/** Lets Debian's Prometheus scrape the metrics, and asks it what it has read. */
export async function runPrometheus(
  cache: string,
  scratch: string,
  served: Served,
  tally: Tally,
): Promise<void> {
  await tally.check("Prometheus", "scrapes the port of the metrics and answers queries", async () => {
    const program = join(await debianPackage(cache, "prometheus"), "usr/bin/prometheus");
    const config = join(scratch, "prometheus.yml");
    await writeFile(
      config,
      `scrape_configs:\n  - job_name: naiad\n    scrape_interval: 1s\n    static_configs: [{ targets: ["${served.metrics}"] }]\n`,
    );
    const port = 40_000 + (process.pid % 20_000);
    const at = `127.0.0.1:${String(port)}`;
    const service = await startService(
      program,
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(scratch, "prometheus")}`,
        `--web.listen-address=${at}`,
      ],
      { ready: (log) => log.includes("Server is ready to receive web requests") },
    );
    try {
      const successes = await queryUntilThere(at, 'nv_inference_request_success{model="simple"}');
      const up = await queryUntilThere(at, 'up{job="naiad"}');
      if (up !== 1) throw new Error("Prometheus counts the target as down");
      if (!(successes > 0)) throw new Error(`nv_inference_request_success is ${String(successes)}`);
      return `nv_inference_request_success is ${String(successes)}`;
    } finally {
      await service.stop();
    }
  });
}

const PATIENCE_MS = 20_000;

async function queryUntilThere(at: string, query: string): Promise<number> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const response = await fetch(`http://${at}/api/v1/query?query=${encodeURIComponent(query)}`);
    // Prometheus' documented shape.
    const { data } = (await response.json()) as QueryAnswer;
    const [first] = data.result;
    if (first !== undefined) return Number(first.value[1]);
    if (performance.now() > end) throw new Error(`Prometheus has nothing for ${query}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
