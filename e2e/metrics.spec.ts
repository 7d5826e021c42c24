import { expect, test } from "./fixtures.ts";
import type { Page } from "./fixtures.ts";
import { inferJson, send, SIMPLE_INPUTS } from "./requests.ts";

/** One line of Prometheus' text format: a comment, or a name, labels and a number. */
const LINE =
  /^(?:# (?:HELP|TYPE) [a-z_]+ \S.*|([a-z_]+(?:\{[a-z_\d]+="[^"\\]*"(?:,[a-z_\d]+="[^"\\]*")*\})?) (Nan|[+-]?(?:Inf|[\d.]+(?:e[+-]\d+)?)))$/;

/** Values by name and labels. Throws for a line that is not of the format. */
function parseMetrics(text: string): ReadonlyMap<string, number> {
  const metrics = new Map<string, number>();
  for (const line of text.trimEnd().split("\n")) {
    const match = LINE.exec(line);
    if (match === null) throw new Error(`no line of the format: ${line}`);
    const [, key, value] = match;
    if (key !== undefined) metrics.set(key, Number(value));
  }
  return metrics;
}

async function fetchMetrics(page: Page): Promise<ReadonlyMap<string, number>> {
  const answer = await send(page, "GET", "/metrics");
  expect([answer.status, answer.marked]).toEqual([200, true]);
  return parseMetrics(answer.body);
}

test("fetch('/metrics') counts what the page asked for", async ({ blank, start }) => {
  await start(blank, {
    loadModels: ["simple"],
    metricsConfig: ["summary_latencies=true", "histogram_latencies=true"],
  });
  const labels = '{model="simple",version="1"}';
  const before = await fetchMetrics(blank);
  expect(before.get(`nv_inference_request_success${labels}`)).toBe(0);
  expect(before.get(`nv_model_load_duration_secs${labels}`)).toBeGreaterThan(0);
  expect(before.get('naiad_instances{model="simple",state="ready",version="1"}')).toBe(1);

  expect(before.get('naiad_workers{kind="cpu"}')).toBe(1);
  const wasm = [...before].filter(([key]) => key.startsWith("naiad_wasm_memory_bytes"));
  expect(wasm).toHaveLength(1);
  expect(wasm[0]?.[1]).toBeGreaterThan(2 ** 20);
  // No page knows the machine.
  expect([...before.keys()].filter((key) => /^nv_(cpu|gpu)|^nv_energy/.test(key))).toEqual([]);

  for (let sent = 0; sent < 3; sent += 1) {
    expect((await inferJson(blank, "simple", SIMPLE_INPUTS)).status).toBe(200);
  }
  const after = await fetchMetrics(blank);
  expect(after.get(`nv_inference_request_success${labels}`)).toBe(3);
  expect(after.get(`nv_inference_exec_count${labels}`)).toBe(3);
  expect(after.get(`nv_inference_pending_request_count${labels}`)).toBe(0);
  expect(after.get(`nv_inference_request_duration_us${labels}`)).toBeGreaterThan(0);
  expect(after.get(`nv_inference_request_summary_us_count${labels}`)).toBe(3);
  expect(after.get(`nv_inference_first_response_histogram_ms_count${labels}`)).toBe(3);
  const limits = [...after].filter(([key]) => key.startsWith("naiad_batch_limit_total"));
  expect(limits.reduce((sum, [, count]) => sum + count, 0)).toBe(3);

  const { type, text } = await blank.evaluate(async () => ({
    type: (await fetch("/metrics")).headers.get("content-type"),
    text: await window.test.server.client.metrics(),
  }));
  expect(type).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect([...parseMetrics(text).keys()]).toEqual([...after.keys()]);
});

test("the server metadata tell how finely the clock measures", async ({ blank, start }) => {
  await start(blank);
  const { parameters } = JSON.parse((await send(blank, "GET", "/v2")).body) as {
    readonly parameters: { readonly clock_resolution_ns: number };
  };
  // Chromium's steps in an isolated page are 5 microseconds.
  expect(parameters.clock_resolution_ns).toBeGreaterThanOrEqual(4_000);
  expect(parameters.clock_resolution_ns).toBeLessThanOrEqual(10_000);
});

test("an application that wants /metrics for itself gets it", async ({ blank, start }) => {
  await start(blank, { allowMetrics: false });
  const answer = await send(blank, "GET", "/metrics");
  expect(answer.marked).toBe(false);
  expect((await send(blank, "GET", "/v2/health/live")).marked).toBe(true);
  const refusal = await blank.evaluate(() =>
    window.test.server.client.metrics().then(
      () => "",
      (error: unknown) => String(error),
    ),
  );
  expect(refusal).toContain("metrics not supported");
});
