import { expect, test } from "./fixtures.ts";

test("a page measures a model over the port and over fetch, and at a rate", async ({ blank, start }) => {
  await start(blank, { loadModels: ["simple"] });
  const reports = await blank.evaluate(async () => {
    const { naiad, server } = window.test;
    const { measure } = await window.test.perf();
    const quick = { modelName: "simple", inputData: "zero", measurementInterval: 200, maxTrials: 3 } as const;
    const overFetch = naiad.createInferenceClient(naiad.createFetchTransport());
    return [
      await measure({ ...quick, client: server.client, concurrencyRange: "1:2" }),
      await measure({ ...quick, client: overFetch, transport: "fetch" }),
      await measure({ ...quick, client: server.client, requestRateRange: "50", requestCount: 20 }),
    ];
  });
  expect(reports.map(({ load, transport, levels }) => [load, transport, levels.length])).toEqual([
    ["concurrency", "port", 2],
    ["concurrency", "fetch", 1],
    ["request-rate", "port", 1],
  ]);
  for (const { inferencesPerSecond, latency, requests, server } of reports.flatMap(({ levels }) => levels)) {
    expect(inferencesPerSecond).toBeGreaterThan(0);
    expect(latency.p50Ns).toBeGreaterThan(0);
    expect(latency.p99Ns).toBeGreaterThanOrEqual(latency.p50Ns);
    // The server counts what is answered while it is asked for its statistics too.
    expect(server?.requests).toBeGreaterThanOrEqual(requests);
  }
  expect(reports[2]?.levels[0]).toMatchObject({ outcome: "counted", requests: 20, server: { requests: 20 } });
});

test("a measurement in a page ends with an abort, and the server goes on", async ({ blank, start }) => {
  await start(blank, { loadModels: ["simple"] });
  const told = await blank.evaluate(async () => {
    const { naiad, server } = window.test;
    const { measure } = await window.test.perf();
    const clients = {
      port: server.client,
      fetch: naiad.createInferenceClient(naiad.createFetchTransport()),
    };
    const ends: string[] = [];
    for (const [transport, client] of Object.entries(clients)) {
      const stopping = new AbortController();
      const levels: number[] = [];
      const measuring = measure({
        ...{ client, transport, modelName: "simple", measurementInterval: 100, maxTrials: 3 },
        concurrencyRange: "4:999",
        onLevel: ({ value }) => levels.push(value),
        onWindow: (value) => {
          if (value === 5) stopping.abort(new Error(`enough of ${transport}`));
        },
        signal: stopping.signal,
      });
      ends.push(
        await measuring.then(
          () => "measured all",
          (error: unknown) => String(error),
        ),
        levels.join(),
      );
    }
    const after = await measure({ client: server.client, modelName: "simple", requestCount: 5 });
    return { ends, after: after.levels[0]?.requests };
  });
  expect(told).toEqual({ ends: ["Error: enough of port", "4", "Error: enough of fetch", "4"], after: 5 });
});

test("a page learns what it has", async ({ blank }) => {
  const diagnosis = await blank.evaluate(() => window.test.naiad.diagnose());
  expect(diagnosis).toMatchObject({
    isSecureContext: true,
    serviceWorker: "possible",
    hasWebLocks: true,
    hasWasmSimd: true,
    capabilities: { crossOriginIsolated: true },
  });
  expect(diagnosis.storage.quotaBytes).toBeGreaterThan(0);
  expect(diagnosis.clockResolutionNs).toBeLessThanOrEqual(100_000);
  expect(diagnosis.findings.filter(({ severity }) => severity === "problem")).toEqual([]);
});
