import type { OnnxEngine } from "@naiad/backend-onnxruntime";
import type { FileStore } from "@naiad/core";
import { createMemoryFileStore } from "@naiad/core";
import type { Channel, EmptyContract } from "@naiad/link";
import { createChannel, holdAlive, whenDead } from "@naiad/link";
import type { ClientContract, ServerEvent, ServerOptions } from "@naiad/protocol";
import { InferenceError } from "@naiad/protocol";
import { SERVER_OPTIONS, memoryLocks, realEndpoints } from "@naiad/testing";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import { fixtureModels } from "@naiad/testing/fixture-models";
import { memoryPlatform } from "../../test/memory-platform.ts";
import type { GatewayContract, HostStart } from "../contracts.ts";
import { aliveLock, WIRE_VERSION } from "../contracts.ts";
import { runInstanceWorker } from "../instance/instance-worker.ts";
import { composeHost } from "./compose-host.ts";
import { createHost } from "./host.ts";
import type { WorkerSpawner } from "./worker-spawner.ts";

/**
 * The whole server without a browser: everything is real except that workers run in this thread and that the repository
 * and the store are memory.
 */
const OPTIONS: ServerOptions = {
  ...SERVER_OPTIONS,
  modelRepositories: [{ url: "memory:" }],
  loadModels: ["batcher"],
  httpMaxInputSize: 1_000_000,
};
const ENGINE: OnnxEngine = { build: "wasm", load: () => import("onnxruntime-web") };
const NOTHING = { calls: {}, streams: {}, notes: {} };

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function fixture(name: string): Readonly<Record<string, string | Uint8Array>> {
  const found = fixtureModels().find((model) => model.name === name);
  if (found === undefined) throw new Error(`no fixture ${name}`);
  return found.files;
}

interface Setting {
  readonly store?: FileStore;
  readonly start?: Partial<HostStart>;
}

async function startServer({ store = createMemoryFileStore(), start = {} }: Setting = {}) {
  const locks = memoryLocks();
  const spawnedUrls: string[] = [];
  const lines: string[] = [];
  const spawner: WorkerSpawner = {
    spawn(url) {
      spawnedUrls.push(url);
      const { left, right } = realEndpoints();
      runInstanceWorker(right, ENGINE, {
        platform: { locks, gpu: undefined, hasWebNn: false, openStore: () => undefined },
      });
      const terminate = (): void => {
        left.kill();
        right.kill();
      };
      ends.push(terminate);
      return { endpoint: left, failed: new Promise(() => undefined), terminate };
    },
  };
  const platform = memoryPlatform({
    locks,
    spawner,
    models: { batcher: fixture("batcher") },
    store,
    lines,
  });
  const host = createHost({
    clock: platform.clock,
    compose: (start) => composeHost(start, platform),
    holdAlive: (hostId) => holdAlive(locks, aliveLock(hostId)),
    whenDead: (peerId, signal) => whenDead(locks, aliveLock(peerId), signal),
  });
  await host.start({
    wireVersion: WIRE_VERSION,
    hostId: "host-1",
    options: OPTIONS,
    assets: {
      host: "host",
      instanceWasm: "wasm",
      instanceJspi: "jspi",
      instanceAsyncify: "asyncify",
      instanceJavascript: "javascript",
      ort: "",
    },
    storageName: "store",
    ...start,
  });
  ends.push(() => host.stop());

  async function port(kind: "client" | "gateway") {
    const { left, right } = realEndpoints();
    ends.push(await holdAlive(locks, aliveLock(kind)));
    // The host uses no more of a port than an endpoint has.
    await host.attach(kind, kind, right as unknown as MessagePort);
    ends.push(() => {
      left.kill();
    });
    return left;
  }
  const gateway: Channel<GatewayContract> = createChannel<GatewayContract, EmptyContract>(
    await port("gateway"),
    NOTHING,
    { peer: "host" },
  );
  const client: Channel<ClientContract> = createChannel<ClientContract, EmptyContract>(
    await port("client"),
    NOTHING,
    { peer: "host" },
  );
  async function http(
    method: string,
    rawTarget: string,
    body: Uint8Array = new Uint8Array(),
    headers: readonly [string, string][] = [],
  ) {
    const answer = await gateway.call("exchange", {
      method,
      rawTarget,
      headers,
      body: new Uint8Array(body).buffer,
      clientId: "c",
      bodyHash: "",
    });
    const text = answer.body.kind === "bytes" ? new TextDecoder().decode(answer.body.bytes) : "a stream";
    return { status: answer.status, json: text === "" ? undefined : (JSON.parse(text) as unknown) };
  }
  return { host, client, http, spawnedUrls, lines };
}

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const REQUEST = { inputs: [{ name: "INPUT", datatype: "FP32", shape: [1, 4], data: [0, 1, 2, 3] }] };

describe("composeHost", () => {
  it("loads a model and answers over both roads", async () => {
    const { host, client, http, spawnedUrls, lines } = await startServer();
    const events: ServerEvent[] = [];
    const listening = (async () => {
      for await (const event of client.stream("events", {})) events.push(event);
    })();
    listening.catch(() => undefined);
    await host.ready();

    expect(await http("GET", "/v2/health/ready")).toMatchObject({ status: 200 });
    expect(await http("GET", "/v2")).toMatchObject({
      status: 200,
      json: { name: "triton", version: expect.stringMatching(/^2\.\d+\.\d+\+naiad\./) as unknown },
    });
    const plain = await http("POST", "/v2/models/batcher/infer", encode(REQUEST));
    expect(plain).toMatchObject({
      status: 200,
      json: { model_name: "batcher", outputs: [{ name: "OUTPUT" }] },
    });
    const packed = await http("POST", "/v2/models/batcher/infer", gzipSync(encode(REQUEST)), [
      ["content-encoding", "gzip"],
    ]);
    expect(packed).toEqual(plain);
    expect(await http("POST", "/v2/models/nobody/infer", encode(REQUEST))).toMatchObject({ status: 404 });

    const bytes = new Uint8Array(Float32Array.of(0, 1, 2, 3).buffer);
    const response = await client.call("modelInfer", {
      modelName: "batcher",
      modelVersion: "",
      id: "7",
      parameters: {},
      inputs: [{ kind: "bytes", name: "INPUT", datatype: "FP32", shape: [1, 4], bytes }],
      outputs: [],
    });
    const [output] = response.outputs;
    const values = output?.kind === "bytes" ? [...new Float32Array(output.bytes.slice().buffer)] : [];
    expect(plain.json).toMatchObject({ outputs: [{ data: values }] });

    expect(await client.call("instances", {})).toMatchObject([
      { modelName: "batcher", state: "ready", device: { executionProvider: "wasm" } },
    ]);
    expect(new Set(spawnedUrls)).toEqual(new Set(["wasm"]));
    expect(events.some(({ kind }) => kind === "model")).toBe(true);
    const logged = events.flatMap((event) => (event.kind === "log" ? [event.message] : []));
    expect(logged.length).toBeGreaterThan(0);
    // Each line once, whoever wrote it.
    expect(lines.slice(-logged.length)).toEqual(logged);
  });

  it("goes on with the log and trace settings of the host before it", async () => {
    const store = createMemoryFileStore();
    const first = await startServer({ store });
    await first.host.ready();
    await first.http("POST", "/v2/logging", encode({ log_verbose_level: 2, log_format: "ISO8601" }));
    await first.http("POST", "/v2/trace/setting", encode({ trace_rate: "2" }));
    const ofModel = { trace_level: ["TIMESTAMPS"], trace_count: "9" };
    await first.http("POST", "/v2/models/batcher/trace/setting", encode(ofModel));
    // One of two is traced.
    for (let round = 0; round < 2; round += 1) {
      await first.http("POST", "/v2/models/batcher/infer", encode(REQUEST));
    }
    await first.host.stop();

    const second = await startServer({ store, start: { hostId: "host-2", successorOf: "host-1" } });
    await second.host.ready();
    expect(await second.http("GET", "/v2/logging")).toMatchObject({
      json: { log_verbose_level: 2, log_format: "ISO8601" },
    });
    expect(await second.http("GET", "/v2/models/batcher/trace/setting")).toMatchObject({
      json: { trace_rate: "2", trace_count: "8" },
    });
    const other = await startServer({ store, start: { hostId: "host-3", successorOf: "nobody" } });
    await other.host.ready();
    expect(await other.http("GET", "/v2/logging")).toMatchObject({ json: { log_format: "default" } });
  });

  it("ends its workers when it stops", async () => {
    const { host, client } = await startServer();
    await host.ready();
    await host.stop();
    await expect(client.call("serverLive", {})).rejects.toBeInstanceOf(InferenceError);
    await expect(host.ready()).resolves.toBeUndefined();
  });
});
