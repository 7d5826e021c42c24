import { create } from "@bufbuild/protobuf";
import { parseTraceConfig } from "@naiad/protocol";
import { activityNames, ANSWERED_ACTIVITIES, echoModel } from "@naiad/testing";
import { afterEach, describe, expect, it } from "vitest";
import { createGrpcBench, type GrpcBench, type GrpcBenchOptions } from "../test/grpc-bench.ts";
import { echoMessage } from "../test/infer-messages.ts";
import { messageQueue } from "../test/message-queue.ts";
import { ModelInferRequestSchema } from "./gen/grpc_service_pb.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const RECEIVED = ["GRPC_WAITREAD_START", "GRPC_WAITREAD_END"];
const SENT = ["GRPC_SEND_START", "GRPC_SEND_END"];

async function start(texts: readonly string[] = [], options: GrpcBenchOptions = {}): Promise<GrpcBench> {
  const bench = await createGrpcBench({
    models: { m: echoModel() },
    options: { traceConfig: parseTraceConfig(["level=TIMESTAMPS", "rate=1", ...texts]) },
    ...options,
  });
  closing.push(() => bench.close());
  return bench;
}

describe.each(["gRPC", "gRPC-Web"] as const)("the trace of a request over %s", (protocol) => {
  it("has when it came and when its response left", async () => {
    const grpc = await start([], { protocol });
    await grpc.client.modelInfer(echoMessage("m", 7, { id: "r" }));
    expect(activityNames(grpc.bench.traces)).toEqual([[...RECEIVED, ...ANSWERED_ACTIVITIES, ...SENT]]);
    expect(grpc.bench.traces).toMatchObject([{ requests: [{ modelName: "m", requestId: "r" }] }]);
  });

  it("has that also where the request is refused", async () => {
    const grpc = await start([], { protocol });
    await expect(grpc.client.modelInfer({ modelName: "m" })).rejects.toThrow(/expected 1 inputs/);
    expect(activityNames(grpc.bench.traces)).toEqual([[...RECEIVED, ...SENT]]);
  });

  it("goes on with the client's own", async () => {
    const grpc = await start(["rate=0", "mode=opentelemetry"], { protocol });
    const headers = { traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01`, tracestate: "k=v" };
    await grpc.client.modelInfer(echoMessage("m", 7));
    await grpc.client.modelInfer(echoMessage("m", 7), { headers });
    expect(grpc.bench.traces).toMatchObject([{ parent: { spanId: "cd".repeat(8), state: "k=v" } }]);
  });
});

describe("the traces of a stream", () => {
  it("are those of its requests, each with its responses", async () => {
    const grpc = await start();
    const empty = create(ModelInferRequestSchema, { modelName: "m" });
    const requests = messageQueue(echoMessage("m", 1), empty, echoMessage("m", 3));
    requests.end();
    const errors: string[] = [];
    for await (const { errorMessage } of grpc.client.modelStreamInfer(requests)) errors.push(errorMessage);
    expect(errors.filter((message) => message !== "")).toEqual([
      expect.stringContaining("expected 1 inputs"),
    ]);
    expect(errors).toHaveLength(3);
    expect([...activityNames(grpc.bench.traces)].sort((a, b) => a.length - b.length)).toEqual([
      [...RECEIVED, ...SENT],
      [...RECEIVED, ...ANSWERED_ACTIVITIES, ...SENT],
      [...RECEIVED, ...ANSWERED_ACTIVITIES, ...SENT],
    ]);
  });
});

describe("trace settings over gRPC", () => {
  it("are refused in Triton's words for it", async () => {
    const { client } = await start();
    const refusal = (name: string, value: string): Promise<string> =>
      client.traceSetting({ settings: { [name]: { value: [value] } } }).then(
        () => "taken",
        (error: unknown) => String(error),
      );
    expect(await refusal("trace_count", "-2")).toContain(
      "[invalid_argument] Unable to parse 'trace_count'. Expecting value >= -1, got: -2",
    );
    expect(await refusal("trace_rate", "x")).toContain("Unable to parse 'trace_rate', got: x");
    expect(await refusal("log_frequency", "9999999999")).toContain(
      "Unable to parse 'log_frequency', value is out of range [ 0, 4294967295 ], got: 9999999999",
    );
  });

  it("have those of the mode opentelemetry in it", async () => {
    const { client } = await start([
      "mode=opentelemetry",
      "opentelemetry,url=http://c/",
      "opentelemetry,bsp_max_queue_size=7",
    ]);
    const { settings } = await client.traceSetting({});
    expect(Object.keys(settings).sort()).toEqual([
      "bsp_max_queue_size",
      "trace_count",
      "trace_level",
      "trace_mode",
      "trace_rate",
      "url",
    ]);
    expect(settings["url"]?.value).toEqual(["http://c/"]);
  });
});
