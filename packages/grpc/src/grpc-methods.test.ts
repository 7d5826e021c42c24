import { create } from "@bufbuild/protobuf";
import { ConnectError, createClient } from "@connectrpc/connect";
import { OPERATIONS } from "@naiad/protocol";
import { EchoServer, fakeHandlers } from "@naiad/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect, type Connection, PROTOCOLS } from "../test/clients.ts";
import { GRPCInferenceService, ModelRepositoryParameterSchema } from "./gen/grpc_service_pb.ts";
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from "./gen/health_pb.ts";

const BYTES = Uint8Array.of(1, 2, 3);

it("the service has the methods of the table of operations", () => {
  const named = Object.entries(OPERATIONS).flatMap(([name, { grpc }]) =>
    grpc === undefined ? [] : [[name, grpc]],
  );
  const methods = Object.entries(GRPCInferenceService.method).map(([name, method]) => [name, method.name]);
  expect(new Map(methods.map(([name, method]) => [name, method]))).toEqual(
    new Map(named.map(([a, b]) => [a, b])),
  );
});

describe.each(PROTOCOLS)("over %s", (protocol) => {
  let server: EchoServer;
  let connection: Connection;

  beforeEach(async () => {
    server = new EchoServer();
    connection = await connect(protocol, { handlers: server });
  });
  afterEach(() => connection.close());

  it("tells whether the server and its models are live and ready", async () => {
    const { client } = connection;
    expect((await client.serverLive({})).live).toBe(true);
    expect((await client.serverReady({})).ready).toBe(true);
    server.isReady = false;
    expect((await client.serverReady({})).ready).toBe(false);
    expect((await client.modelReady({ name: "echo", version: "1" })).ready).toBe(true);
    expect(server.lastInput()).toEqual({ modelName: "echo", modelVersion: "1" });
    expect((await client.modelReady({ name: "echo", version: "3" })).ready).toBe(false);
  });

  it("answers gRPC's own question for health", async () => {
    const health = createClient(Health, connection.transport);
    expect((await health.check({})).status).toBe(ServingStatus.SERVING);
    server.isReady = false;
    expect((await health.check({ service: "inference.GRPCInferenceService" })).status).toBe(
      ServingStatus.NOT_SERVING,
    );
  });

  it("tells the metadata of the server and of a model", async () => {
    const { client } = connection;
    expect(await client.serverMetadata({})).toMatchObject({
      name: "naiad",
      version: "2.70.0",
      extensions: ["binary_tensor_data"],
    });
    expect(await client.modelMetadata({ name: "echo" })).toMatchObject({
      name: "echo",
      versions: ["1"],
      platform: "onnxruntime_onnx",
      inputs: [{ name: "X", datatype: "FP32", shape: [-1n, 4n] }],
      outputs: [{ name: "X", datatype: "FP32", shape: [-1n, 4n] }],
    });
  });

  it("tells statistics with numbers beyond 2^53", async () => {
    const { modelStats } = await connection.client.modelStatistics({ name: "echo", version: "1" });
    expect(modelStats).toMatchObject([
      {
        name: "echo",
        version: "1",
        lastInference: 1_700_000_000_000n,
        inferenceCount: 3n,
        executionCount: 2n,
        inferenceStats: { success: { count: 3n, ns: 2n ** 53n }, cacheMiss: { count: 0n, ns: 0n } },
      },
    ]);
    expect(server.lastInput()).toEqual({ modelName: "echo", modelVersion: "1" });
  });

  it("tells the repository's index", async () => {
    const { client } = connection;
    expect((await client.repositoryIndex({})).models).toMatchObject([
      { name: "echo", version: "1", state: "READY", reason: "" },
      { name: "other", version: "", state: "", reason: "" },
    ]);
    expect((await client.repositoryIndex({ ready: true })).models).toEqual([]);
  });

  it("loads with a configuration and files, and unloads with dependents", async () => {
    const { client } = connection;
    await client.repositoryModelLoad({ modelName: "echo" });
    expect(server.lastInput()).toEqual({ modelName: "echo" });
    await client.repositoryModelLoad({
      modelName: "echo",
      parameters: {
        config: create(ModelRepositoryParameterSchema, {
          parameterChoice: { case: "stringParam", value: "{}" },
        }),
        "file:1/model.onnx": create(ModelRepositoryParameterSchema, {
          parameterChoice: { case: "bytesParam", value: BYTES },
        }),
      },
    });
    expect(server.lastInput()).toEqual({ modelName: "echo", config: "{}", files: { "1/model.onnx": BYTES } });
    await client.repositoryModelUnload({ modelName: "echo" });
    expect(server.lastInput()).toEqual({ modelName: "echo", unloadDependents: false });
    await client.repositoryModelUnload({
      modelName: "echo",
      parameters: {
        unload_dependents: create(ModelRepositoryParameterSchema, {
          parameterChoice: { case: "boolParam", value: true },
        }),
      },
    });
    expect(server.lastInput()).toEqual({ modelName: "echo", unloadDependents: true });
  });

  it("reads and changes the settings of traces", async () => {
    const { client } = connection;
    const { settings } = await client.traceSetting({ modelName: "echo" });
    expect(settings).toMatchObject({
      trace_level: { value: ["OFF"] },
      trace_rate: { value: ["1000"] },
      trace_count: { value: ["-1"] },
      log_frequency: { value: ["0"] },
      trace_file: { value: [""] },
      trace_mode: { value: ["triton"] },
    });
    expect(server.lastInput()).toEqual({ modelName: "echo" });
    const changed = await client.traceSetting({
      settings: { trace_level: { value: [] }, trace_rate: { value: ["7"] }, trace_count: { value: [] } },
    });
    expect(changed.settings["trace_rate"]?.value).toEqual(["7"]);
    expect(server.lastInput()).toEqual({
      modelName: "",
      update: { trace_level: null, trace_rate: "7", trace_count: null },
    });
  });

  it("reads and changes the settings of the log", async () => {
    const { client } = connection;
    expect((await client.logSettings({})).settings).toMatchObject({
      log_file: { parameterChoice: { case: "stringParam", value: "" } },
      log_info: { parameterChoice: { case: "boolParam", value: true } },
      log_verbose_level: { parameterChoice: { case: "uint32Param", value: 0 } },
      log_format: { parameterChoice: { case: "stringParam", value: "default" } },
    });
    expect(server.lastInput()).toEqual({});
    const { settings } = await client.logSettings({
      settings: {
        log_info: { parameterChoice: { case: "boolParam", value: false } },
        log_verbose_level: { parameterChoice: { case: "uint32Param", value: 2 } },
        log_format: { parameterChoice: { case: "stringParam", value: "ISO8601" } },
      },
    });
    expect(settings["log_info"]?.parameterChoice.value).toBe(false);
    expect(server.lastInput()).toEqual({
      update: {
        log_info: false,
        log_warning: null,
        log_error: null,
        log_verbose_level: 2,
        log_format: "ISO8601",
      },
    });
  });

  it("passes shared memory on as it is asked for", async () => {
    const { client } = connection;
    expect((await client.systemSharedMemoryStatus({ name: "region" })).regions).toMatchObject({
      region: { name: "region", key: "/key", offset: 0n, byteSize: 64n },
    });
    expect((await client.cudaSharedMemoryStatus({})).regions).toMatchObject({
      region: { name: "region", deviceId: 0n, byteSize: 64n },
    });
    await client.systemSharedMemoryRegister({ name: "r", key: "/k", offset: 4n, byteSize: 8n });
    expect(server.lastInput()).toEqual({ regionName: "r", key: "/k", offset: 4, byteSize: 8 });
    await client.systemSharedMemoryUnregister({ name: "r" });
    expect(server.lastInput()).toEqual({ regionName: "r" });
    await client.cudaSharedMemoryRegister({ name: "r", rawHandle: BYTES, deviceId: 1n, byteSize: 8n });
    expect(server.lastInput()).toEqual({ regionName: "r", rawHandle: BYTES, deviceId: 1, byteSize: 8 });
    await client.cudaSharedMemoryUnregister({});
    expect(server.lastInput()).toEqual({ regionName: "" });
  });
});

describe("what is refused before an operation is asked", () => {
  async function refusal(call: (client: Connection["client"]) => Promise<unknown>): Promise<string> {
    const { client, close } = await connect("gRPC-Web", {
      handlers: fakeHandlers({ traceSetting: new EchoServer().traceSetting }),
    });
    const thrown = await call(client).then(
      () => "nothing was refused",
      (error: unknown) => ConnectError.from(error).message,
    );
    await close();
    return thrown;
  }
  const load = (name: string, parameterChoice: { case: "stringParam"; value: string }) =>
    refusal((client) =>
      client.repositoryModelLoad({
        modelName: "m",
        parameters: { [name]: create(ModelRepositoryParameterSchema, { parameterChoice }) },
      }),
    );
  const text = { case: "stringParam", value: "x" } as const;

  it("names a repository", async () => {
    const expected = "[unimplemented] 'repository_name' specification is not supported";
    const repositoryName = "r";
    expect(await refusal((client) => client.repositoryIndex({ repositoryName }))).toBe(expected);
    expect(await refusal((client) => client.repositoryModelLoad({ repositoryName }))).toBe(expected);
    expect(await refusal((client) => client.repositoryModelUnload({ repositoryName }))).toBe(expected);
  });

  it("parameters of a load or unload that are none or of the wrong type", async () => {
    expect(await load("file:1/m", text)).toBe(
      "[invalid_argument] invalid value type for load parameter 'file:1/m', expected bytes_param.",
    );
    expect(await load("files", text)).toBe("[invalid_argument] unrecognized load parameter 'files'.");
    const config = create(ModelRepositoryParameterSchema, {
      parameterChoice: { case: "bytesParam", value: BYTES },
    });
    expect(await refusal((client) => client.repositoryModelLoad({ parameters: { config } }))).toBe(
      "[invalid_argument] invalid value type for load parameter 'config', expected string_param.",
    );
    expect(
      await refusal((client) => client.repositoryModelUnload({ parameters: { unload_dependents: config } })),
    ).toBe("[invalid_argument] invalid value type for 'unload_dependents' parameter, expected bool_param.");
  });

  it("settings of the wrong type", async () => {
    const log = (
      name: string,
      parameterChoice: { case: "stringParam"; value: string } | { case: undefined },
    ) => refusal((client) => client.logSettings({ settings: { [name]: { parameterChoice } } }));
    expect(await log("log_info", text)).toBe("[invalid_argument] expect boolean for 'log_info'");
    expect(await log("log_verbose_level", text)).toBe(
      "[invalid_argument] expect int32 for 'log_verbose_level'",
    );
    expect(await log("log_format", { case: undefined })).toBe(
      "[invalid_argument] expect string for 'log_format'",
    );
    expect(await log("log_format", text)).toBe("[invalid_argument] invalid argument for log_format, got: x");
    expect(
      await refusal((client) => client.traceSetting({ settings: { trace_rate: { value: ["1", "2"] } } })),
    ).toBe("[invalid_argument] expect only 1 value for 'trace_rate'");
  });
});
