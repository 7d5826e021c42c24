import type { CallContext, Channel, ChannelHandlers, EmptyContract, Endpoint, Reply } from "@naiad/link";
import { createChannel } from "@naiad/link";
import type { ClientContract, JsonObject, JsonValue, ModelReference, OperationName } from "@naiad/protocol";
import {
  InferenceError,
  OPERATIONS,
  decodeInferRequest,
  encodeInferResponse,
  encodeJson,
  httpStatusOf,
  parseJson,
} from "@naiad/protocol";
import type { EchoServer } from "./echo-server.ts";

/** The host's side of a client port. */
export function serveEchoPort(server: EchoServer, port: Endpoint): Channel<EmptyContract> {
  const answer =
    <Input, Output>(handler: (input: Input, context: CallContext) => Promise<Output>) =>
    async (input: Input, context: CallContext): Promise<Reply<Output>> => ({
      value: await handler(input, context),
    });
  const unused = (): Promise<never> =>
    Promise.reject(new InferenceError("UNSUPPORTED", "an echo does not do this"));
  const handlers: ChannelHandlers<ClientContract> = {
    calls: {
      serverLive: answer(server.serverLive),
      serverReady: answer(server.serverReady),
      serverMetadata: answer(server.serverMetadata),
      serverMetrics: answer(server.serverMetrics),
      modelReady: answer(server.modelReady),
      modelMetadata: answer(server.modelMetadata),
      modelConfig: answer(server.modelConfig),
      modelStatistics: answer(server.modelStatistics),
      modelInfer: answer(server.modelInfer),
      repositoryIndex: answer(server.repositoryIndex),
      repositoryModelLoad: answer(server.repositoryModelLoad),
      repositoryModelUnload: answer(server.repositoryModelUnload),
      traceSetting: answer(server.traceSetting),
      logSettings: answer(server.logSettings),
      systemSharedMemoryStatus: answer(server.systemSharedMemoryStatus),
      systemSharedMemoryRegister: answer(server.systemSharedMemoryRegister),
      systemSharedMemoryUnregister: answer(server.systemSharedMemoryUnregister),
      cudaSharedMemoryStatus: answer(server.cudaSharedMemoryStatus),
      cudaSharedMemoryRegister: answer(server.cudaSharedMemoryRegister),
      cudaSharedMemoryUnregister: answer(server.cudaSharedMemoryUnregister),
      hostInfo: unused,
      instances: unused,
    },
    streams: {
      modelStreamInfer: async function* (input, context) {
        for await (const value of await server.modelStreamInfer(input, context)) yield { value };
      },
      events: () => ({ [Symbol.asyncIterator]: () => ({ next: unused }) }),
      traces: () => ({ [Symbol.asyncIterator]: () => ({ next: unused }) }),
    },
    notes: {},
  };
  return createChannel<EmptyContract, ClientContract>(port, handlers, { peer: "client" });
}

/** Triton's HTTP API, as far as an echo needs it. `path` begins with `/v2`, or is `/metrics`. */
export async function answerEchoHttp(server: EchoServer, path: string, request: Request): Promise<Response> {
  const route = routeOf(path, request.method);
  if (route === undefined) return jsonResponse({ error: "Not Found" }, 404);
  try {
    return await answerRoute(server, route, request);
  } catch (thrown) {
    const { code, message } = InferenceError.from(thrown);
    return jsonResponse({ error: message }, httpStatusOf(code));
  }
}

interface Route {
  readonly operation: OperationName;
  readonly model: ModelReference;
  readonly regionName: string;
}

function routeOf(path: string, method: string): Route | undefined {
  // The templates without a name first: `/v2/models/stats` is not a model called stats.
  const templates = (Object.keys(OPERATIONS) as (keyof typeof OPERATIONS)[])
    .filter((operation) => operation !== "modelStreamInfer")
    .filter((operation) => OPERATIONS[operation].methods.some((allowed) => allowed === method))
    .flatMap((operation) => OPERATIONS[operation].paths.map((template) => ({ operation, template })))
    .sort((a, b) => Number(a.template.includes("{")) - Number(b.template.includes("{")));
  for (const { operation, template } of templates) {
    const pattern = template.replace(/\{(\w+)\}/g, "(?<$1>[^/]+)");
    const match = new RegExp(`^${pattern}$`).exec(path);
    if (match === null) continue;
    const { model = "", version = "", region = "" } = match.groups ?? {};
    return {
      operation,
      model: { modelName: decodeURIComponent(model), modelVersion: version },
      regionName: decodeURIComponent(region),
    };
  }
  return undefined;
}

async function answerRoute(
  server: EchoServer,
  { operation, model, regionName }: Route,
  request: Request,
): Promise<Response> {
  const body = new Uint8Array(await request.arrayBuffer());
  const context = { signal: request.signal };
  const { modelName } = model;
  switch (operation) {
    case "serverLive":
      return healthResponse(await server.serverLive({}, context));
    case "serverReady":
      return healthResponse(await server.serverReady({}, context));
    case "modelReady":
      return healthResponse(await server.modelReady(model, context));
    case "serverMetrics":
      return new Response((await server.serverMetrics({}, context)).text);
    case "serverMetadata":
      return jsonResponse(await server.serverMetadata({}, context));
    case "modelMetadata":
    case "modelConfig":
    case "modelStatistics":
      return jsonResponse(await server[operation](model, context));
    case "modelInfer": {
      const headerLength = Number(request.headers.get("inference-header-content-length"));
      const decoded = decodeInferRequest({ ...model, body, headerLength, maxInputSize: 2 ** 20 });
      const encoded = encodeInferResponse(await server.modelInfer(decoded.request, context), decoded.format);
      const headers = {
        "inference-header-content-length": String(encoded.headerLength),
        "content-length": String(encoded.body.length),
      };
      return new Response(encoded.body, { headers });
    }
    case "repositoryIndex":
      return jsonResponse(
        await server.repositoryIndex({ ready: objectOf(parseJson(body))["ready"] === true }, context),
      );
    case "repositoryModelLoad": {
      const { config, ...files } = parametersOf(body);
      const load = {
        modelName,
        ...(typeof config === "string" && { config }),
        ...(Object.keys(files).length > 0 && { files: decodeFiles(files) }),
      };
      await server.repositoryModelLoad(load, context);
      return new Response(null);
    }
    case "repositoryModelUnload": {
      const unloadDependents = parametersOf(body)["unload_dependents"] === true;
      await server.repositoryModelUnload({ modelName, unloadDependents }, context);
      return new Response(null);
    }
    case "traceSetting": {
      const update = request.method === "POST" ? { update: objectOf(parseJson(body)) } : {};
      return jsonResponse(await server.traceSetting({ modelName, ...update }, context));
    }
    case "logSettings": {
      const update = request.method === "POST" ? { update: objectOf(parseJson(body)) } : {};
      return jsonResponse(await server.logSettings(update, context));
    }
    case "systemSharedMemoryStatus":
    case "cudaSharedMemoryStatus":
      return jsonResponse(await server[operation]({ regionName }, context));
    case "systemSharedMemoryUnregister":
    case "cudaSharedMemoryUnregister":
      await server[operation]({ regionName }, context);
      return new Response(null);
    case "systemSharedMemoryRegister": {
      const { key, offset, byte_size } = objectOf(parseJson(body));
      await server.systemSharedMemoryRegister(
        {
          regionName,
          key: typeof key === "string" ? key : "",
          offset: Number(offset),
          byteSize: Number(byte_size),
        },
        context,
      );
      return new Response(null);
    }
    case "cudaSharedMemoryRegister": {
      const { raw_handle, device_id, byte_size } = objectOf(parseJson(body));
      const handle = decodeFiles({ "file:raw_handle": objectOf(raw_handle)["b64"] ?? "" });
      await server.cudaSharedMemoryRegister(
        {
          regionName,
          deviceId: Number(device_id),
          byteSize: Number(byte_size),
          rawHandle: handle["raw_handle"] ?? new Uint8Array(0),
        },
        context,
      );
      return new Response(null);
    }
  }
}

function parametersOf(body: Uint8Array): JsonObject {
  return objectOf(objectOf(parseJson(body))["parameters"]);
}

function objectOf(value: JsonValue | undefined): JsonObject {
  // Whoever sends something else has a test that fails.
  return value as JsonObject;
}

function decodeFiles(files: JsonObject): Record<string, Uint8Array> {
  return Object.fromEntries(
    Object.entries(files).map(([key, value]) => [
      key.slice("file:".length),
      Uint8Array.from(atob(typeof value === "string" ? value : ""), (character) => character.charCodeAt(0)),
    ]),
  );
}

function healthResponse(answer: Readonly<Record<string, boolean>>): Response {
  return new Response(null, { status: Object.values(answer).every(Boolean) ? 200 : 400 });
}

/** The messages of the protocol are JSON, which their interfaces do not say to the compiler. */
function jsonResponse(value: unknown, status = 200): Response {
  return new Response(encodeJson(value as JsonValue), { status });
}
