import type { MachineMetrics } from "@naiad/core";
import type { TunnelAsker, TunnelRequest } from "@naiad/link/tunnel";
import { createTunnelAsker } from "@naiad/link/tunnel";
import type { ExchangeRequest, ExchangeResponse } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { fakeHandlers, pairedLines, SERVER_OPTIONS } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { WIRE_VERSION } from "../../contracts.ts";
import { deferred } from "../deferred.ts";
import type { HostServices } from "../session.ts";
import { createTunnelSession } from "./tunnel-session.ts";

async function* pieces(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield await Promise.resolve(new TextEncoder().encode(text));
}

async function textOf({ body }: ExchangeResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    text += decoder.decode(piece, { stream: true });
  }
  return text;
}

function connect(services: Partial<HostServices> = {}) {
  const { left, right } = pairedLines();
  const asker: TunnelAsker = createTunnelAsker({ line: left, defer: queueMicrotask, peer: "the host" });
  const seen: ExchangeRequest[] = [];
  const loaded = deferred<undefined>();
  const stopped = { count: 0 };
  const machines: MachineMetrics[] = [];
  createTunnelSession({
    line: right,
    ready: () => loaded.promise,
    stop: () => {
      stopped.count += 1;
      return Promise.resolve();
    },
    services: {
      info: {
        hostId: "h",
        wireVersion: WIRE_VERSION,
        options: SERVER_OPTIONS,
        capabilities: {
          gpus: [],
          crossOriginIsolated: false,
          hardwareConcurrency: 1,
          wasmMemoryLimitBytes: 1,
        },
      },
      operations: fakeHandlers({
        repositoryIndex: ({ ready }) => Promise.resolve([{ name: `ready ${String(ready)}` }]),
      }),
      instances: () => [],
      subscribe: (listener) => {
        listener({ kind: "log", level: "info", message: "one", epochMs: 1 });
        listener({ kind: "model", modelName: "m", version: "1", state: "READY", reason: "" });
        listener({ kind: "log", level: "error", message: "two", epochMs: 2 });
        return () => undefined;
      },
      handleExchange: (request) => {
        seen.push(request);
        return Promise.resolve({ status: 200, headers: [], body: request.body.slice() });
      },
      handleGrpc: () => Promise.reject(new InferenceError("UNAVAILABLE", "not in this test")),
      setMachineMetrics: (metrics) => {
        machines.push(metrics);
      },
      tracing: { nowNs: () => 77, begin: () => undefined },
      traces: async function* () {
        yield await Promise.resolve({ kind: "dropped", count: 3 } as const);
        yield { kind: "setting-ended", settingId: 1, logFrequency: 2 };
      },
      ...services,
    },
  });
  const ask = (protocol: string, request: Partial<TunnelRequest> = {}): Promise<ExchangeResponse> =>
    asker.exchange({
      protocol,
      method: "GET",
      rawTarget: "/v2",
      headers: [],
      body: pieces(),
      signal: new AbortController().signal,
      ...request,
    });
  return { ask, seen, loaded, stopped, machines };
}

describe("the host's end of the tunnel", () => {
  it.each([
    ["named", [["content-length", "6"]]],
    ["unknown", []],
    ["named wrongly", [["content-length", "2"]]],
  ] as const)("puts a body together whose length is %s", async (_how, headers) => {
    const { ask, seen } = connect();
    const body = pieces("ab", "cd", "ef");
    const answer = await ask("http", { method: "POST", headers, body, chunkCount: () => 3 });
    expect(await textOf(answer)).toBe("abcdef");
    expect(seen).toMatchObject([{ method: "POST", rawTarget: "/v2", headers, chunkCount: 3 }]);
  });

  it("refuses a body that no buffer can hold, before it is sent", async () => {
    const { ask, seen } = connect();
    const answer = await ask("http", { headers: [["content-length", "3000000000"]] });
    expect(answer.status).toBe(400);
    expect(await textOf(answer)).toContain("exceeds the maximum of 2147483647 bytes");
    expect(seen).toEqual([]);
  });

  it("keeps metrics and files of models away from the port of the API", async () => {
    const { ask, seen } = connect();
    for (const rawTarget of ["/metrics", "/metrics/", "/metrics?x", "/v2-files/h/model.js"]) {
      const answer = await ask("http", { rawTarget });
      expect([answer.status, await textOf(answer)]).toEqual([404, '{"error":"Not Found"}']);
    }
    expect(seen).toEqual([]);
    await textOf(await ask("files", { rawTarget: "/v2-files/h/model.js" }));
    expect(seen.map(({ rawTarget }) => rawTarget)).toEqual(["/v2-files/h/model.js"]);
  });

  it("serves metrics as Triton's port does", async () => {
    const { ask, seen } = connect();
    expect((await ask("metrics", { rawTarget: "/metrics" })).status).toBe(200);
    expect(seen.length).toBe(1);
    const other = await ask("metrics", { rawTarget: "/v2" });
    expect([other.status, await textOf(other)]).toEqual([200, ""]);
    expect((await ask("metrics", { method: "POST", rawTarget: "/metrics" })).status).toBe(405);
    expect(seen.length).toBe(1);
  });

  it("hands gRPC its body as it comes", async () => {
    const { ask } = connect({
      handleGrpc: ({ body }) =>
        Promise.resolve({
          status: 200,
          headers: [],
          body,
          trailers: Promise.resolve([["grpc-status", "0"]] as const),
        }),
    });
    const answer = await ask("grpc", { body: pieces("a", "b") });
    expect(await textOf(answer)).toBe("ab");
    expect(await answer.trailers).toEqual([["grpc-status", "0"]]);
  });

  it("tells when the models are loaded, or why the server ended", async () => {
    const good = connect();
    const ready = good.ask("control", { rawTarget: "/ready" });
    good.loaded.resolve(undefined);
    expect((await ready).status).toBe(200);

    const bad = connect();
    bad.loaded.reject(new InferenceError("INTERNAL", "failed to load all models: m"));
    await expect(bad.ask("control", { rawTarget: "/ready" })).rejects.toMatchObject({
      code: "INTERNAL",
      message: "failed to load all models: m",
    });
  });

  it("answers the command's other questions", async () => {
    const { ask, stopped } = connect();
    expect(await textOf(await ask("control", { rawTarget: "/index" }))).toBe('[{"name":"ready false"}]');
    await textOf(await ask("control", { rawTarget: "/stop" }));
    expect(stopped.count).toBe(1);
    await expect(ask("control", { rawTarget: "/else" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("takes what the command tells of the machine", async () => {
    const { ask, machines } = connect();
    const machine = { hostRestarts: 1, cpu: { utilization: 0.5 }, gpus: [{ uuid: "GPU-1" }] };
    const body = pieces(JSON.stringify(machine));
    await textOf(await ask("control", { method: "POST", rawTarget: "/machine", body }));
    expect(machines).toEqual([machine]);
    await expect(
      ask("control", { method: "POST", rawTarget: "/machine", body: pieces("{") }),
    ).rejects.toThrow();
    expect(machines).toHaveLength(1);
  });

  it("sends traces as lines of JSON, and ends with them", async () => {
    const { ask } = connect();
    const lines = (await textOf(await ask("traces"))).trim().split("\n");
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      { kind: "dropped", count: 3 },
      { kind: "setting-ended", settingId: 1, logFrequency: 2 },
    ]);
  });

  it("says when a request began to come, by the clock of traces", async () => {
    const { ask, seen } = connect();
    await ask("http", { body: pieces("a", "b") });
    expect(seen).toMatchObject([{ receivedNs: 77 }]);
  });

  it("sends the log as lines of JSON, and nothing else", async () => {
    const { ask } = connect();
    const controller = new AbortController();
    const answer = await ask("control", { rawTarget: "/log", signal: controller.signal });
    let text = "";
    const read = (async () => {
      for await (const piece of answer.body as AsyncIterable<Uint8Array>)
        text += new TextDecoder().decode(piece);
    })();
    await expect.poll(() => text.split("\n").length).toBe(3);
    controller.abort();
    await expect(read).rejects.toMatchObject({ code: "CANCELLED" });
    expect(text).toBe(
      '{"level":"info","message":"one","epochMs":1}\n{"level":"error","message":"two","epochMs":2}\n',
    );
  });
});
