import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { ExchangeResponse, HeaderList, StreamingExchangeRequest } from "@naiad/protocol";
import { headerValue } from "@naiad/protocol";
import { EchoServer, fakeHandlers } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { connect } from "../test/clients.ts";
import {
  GRPCInferenceService,
  ModelInferRequestSchema,
  ModelMetadataRequestSchema,
  ModelMetadataResponseSchema,
} from "./gen/grpc_service_pb.ts";
import { createGrpcHandler } from "./grpc-handler.ts";
import { isGrpcTarget } from "./grpc-target.ts";

const SERVICE = "/inference.GRPCInferenceService/";

function send(
  rawTarget: string,
  {
    body = new Uint8Array(0),
    ...given
  }: Partial<StreamingExchangeRequest> & { readonly server?: EchoServer },
): Promise<ExchangeResponse> {
  return createGrpcHandler({ handlers: given.server ?? new EchoServer() })({
    method: "POST",
    rawTarget,
    headers: [["content-type", "application/grpc+proto"]],
    signal: new AbortController().signal,
    ...given,
    body,
  });
}

/** A message as gRPC frames it. */
function framed(message: Uint8Array): Uint8Array {
  const frame = new Uint8Array(5 + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, 5);
  return frame;
}

async function piecesOf({ body }: ExchangeResponse): Promise<readonly Uint8Array[]> {
  if (body instanceof Uint8Array) return [body];
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return pieces;
}

/** Code and text of gRPC. */
async function statusOf(response: ExchangeResponse): Promise<readonly [string | undefined, string]> {
  await piecesOf(response);
  const trailers = await trailersOf(response);
  return [
    headerValue(trailers, "grpc-status"),
    decodeURIComponent(headerValue(trailers, "grpc-message") ?? ""),
  ];
}

async function trailersOf({ trailers }: ExchangeResponse): Promise<HeaderList> {
  return (await trailers) ?? [];
}

const METADATA = framed(
  toBinary(ModelMetadataRequestSchema, create(ModelMetadataRequestSchema, { name: "echo" })),
);

describe("the gRPC handler", () => {
  it("answers one message with one whole body and with trailers", async () => {
    const response = await send(`${SERVICE}ModelMetadata`, { body: METADATA });
    expect([response.status, headerValue(response.headers, "content-type")]).toEqual([
      200,
      "application/grpc+proto",
    ]);
    const [bytes = new Uint8Array(0)] = await piecesOf(response);
    expect(response.body).toBeInstanceOf(Uint8Array);
    expect(fromBinary(ModelMetadataResponseSchema, bytes.subarray(5)).name).toBe("echo");
    expect(headerValue(await trailersOf(response), "grpc-status")).toBe("0");
  });

  it("takes a body in pieces, wherever it is cut", async () => {
    const response = await send(`${SERVICE}ModelMetadata`, {
      body: (async function* () {
        for (const byte of METADATA) {
          await Promise.resolve();
          yield Uint8Array.of(byte);
        }
      })(),
    });
    const [bytes = new Uint8Array(0)] = await piecesOf(response);
    expect(fromBinary(ModelMetadataResponseSchema, bytes.subarray(5)).name).toBe("echo");
  });

  it("tells errors in the trailers", async () => {
    const wrong = toBinary(ModelMetadataRequestSchema, create(ModelMetadataRequestSchema, { name: "wrong" }));
    const response = await send(`${SERVICE}ModelMetadata`, { body: framed(wrong) });
    expect(response.status).toBe(200);
    const trailers = await trailersOf(response);
    expect(headerValue(trailers, "grpc-status")).toBe("5");
    expect(decodeURIComponent(headerValue(trailers, "grpc-message") ?? "")).toBe(
      "Request for unknown model: 'wrong' is not found",
    );
  });

  it("answers a stream piece by piece and knows its trailers at the end", async () => {
    const request = create(ModelInferRequestSchema, { modelName: "echo" });
    const response = await send(`${SERVICE}ModelStreamInfer`, {
      body: framed(toBinary(ModelInferRequestSchema, request)),
    });
    expect(response.body).not.toBeInstanceOf(Uint8Array);
    expect(await piecesOf(response)).toHaveLength(3);
    expect(headerValue(await trailersOf(response), "grpc-status")).toBe("0");
  });

  it("has trailers also where the body is left before its end", async () => {
    const request = create(ModelInferRequestSchema, { modelName: "echo" });
    const response = await send(`${SERVICE}ModelStreamInfer`, {
      body: framed(toBinary(ModelInferRequestSchema, request)),
    });
    if (response.body instanceof Uint8Array) throw new Error("the body is whole");
    for await (const piece of response.body) {
      expect(piece.length).toBeGreaterThan(0);
      break;
    }
    await expect(trailersOf(response)).resolves.toBeDefined();
  });

  it("does not implement methods and services that there are not", async () => {
    for (const path of [`${SERVICE}Nothing`, "/other.Service/ServerLive", "/v2/health/live"]) {
      expect(await statusOf(await send(path, {}))).toEqual(["12", `unknown method ${path}`]);
    }
    const json: HeaderList = [["content-type", "application/json"]];
    expect((await send(`${SERVICE}Nothing`, { headers: json })).status).toBe(404);
  });

  it("takes no other methods of HTTP and no other contents", async () => {
    expect((await send(`${SERVICE}ServerLive`, { method: "PUT" })).status).toBe(405);
    expect((await send(`${SERVICE}ServerLive`, { headers: [["content-type", "text/plain"]] })).status).toBe(
      415,
    );
  });

  it("is not confused by pseudo headers or a query", async () => {
    const headers: HeaderList = [
      [":authority", "host"],
      ["content-type", "application/grpc"],
    ];
    expect((await send(`${SERVICE}ModelMetadata?x=1`, { headers, body: METADATA })).status).toBe(200);
  });

  it("answers with a status where the body breaks off", async () => {
    const response = await send(`${SERVICE}ModelMetadata`, { body: METADATA.subarray(0, 7) });
    expect(headerValue(await trailersOf(response), "grpc-status")).toBe("3");
    const failing = (async function* (): AsyncGenerator<Uint8Array> {
      await Promise.resolve();
      yield METADATA.subarray(0, 7);
      throw new Error("the connection was lost");
    })();
    expect(
      headerValue(await trailersOf(await send(`${SERVICE}ModelMetadata`, { body: failing })), "grpc-status"),
    ).toBe("13");
  });

  it("does not implement the watching of health", async () => {
    const response = await send("/grpc.health.v1.Health/Watch", { body: framed(new Uint8Array(0)) });
    await piecesOf(response);
    expect(headerValue(await trailersOf(response), "grpc-status")).toBe("12");
  });

  it.each([
    [`${SERVICE}ModelInfer`, true],
    ["/grpc.health.v1.Health/Check", true],
    ["/v2/models/inference.GRPCInferenceService/infer", false],
    ["/inference.GRPCInferenceServices", false],
  ])("knows whether %s is for it", (target, expected) => {
    expect(isGrpcTarget(target)).toBe(expected);
  });
});

describe("a call that is not as it should be", () => {
  const UNARY = `${SERVICE}ModelMetadata`;
  const STREAM = `${SERVICE}ModelStreamInfer`;
  const plain: HeaderList = [["content-type", "application/grpc"]];
  const never = (): AsyncIterable<Uint8Array> => ({
    [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
  });

  it("has one message where there is one answer", async () => {
    expect(await statusOf(await send(UNARY, { body: new Uint8Array(0) }))).toEqual([
      "12",
      "protocol error: missing input message for unary method",
    ]);
    const twice = new Uint8Array([...METADATA, ...METADATA]);
    expect(await statusOf(await send(UNARY, { body: twice }))).toEqual([
      "12",
      "protocol error: received extra input message for unary method",
    ]);
  });

  it.each([UNARY, STREAM])("has messages that can be read: %s", async (path) => {
    const nonsense = framed(Uint8Array.of(0x0a, 0x7f));
    const [code, text] = await statusOf(await send(path, { body: nonsense }));
    expect([code, text]).toEqual(["13", expect.stringMatching(/^parse binary: /)]);
    const compressed = Uint8Array.of(1, 0, 0, 0, 0);
    expect((await statusOf(await send(path, { body: compressed })))[0]).toBe("13");
  });

  it.each([UNARY, STREAM])("is told that nobody knows its compression: %s", async (path) => {
    const headers: HeaderList = [...plain, ["grpc-encoding", "snappy"]];
    const [code, text] = await statusOf(await send(path, { headers, body: METADATA }));
    expect([code, text]).toEqual(["12", expect.stringContaining("snappy")]);
  });

  it.each([UNARY, STREAM])("ends when its deadline passes while it waits for a message: %s", async (path) => {
    for (const timeout of ["0n", "1n", "20m"]) {
      const headers: HeaderList = [...plain, ["grpc-timeout", timeout]];
      const response = await send(path, { headers, body: never() });
      expect(await statusOf(response)).toEqual(["4", "Deadline Exceeded"]);
    }
  });

  it("is not begun where its deadline has passed already", async () => {
    const server = new EchoServer();
    const headers: HeaderList = [...plain, ["grpc-timeout", "0S"]];
    expect((await statusOf(await send(UNARY, { server, headers, body: METADATA })))[0]).toBe("4");
    expect(server.seen).toEqual([]);
  });

  it("may have a deadline in a hundred years, but none that is no time", async () => {
    const headers = (timeout: string): HeaderList => [...plain, ["grpc-timeout", timeout]];
    expect((await statusOf(await send(UNARY, { headers: headers("876000H"), body: METADATA })))[0]).toBe("0");
    for (const path of [UNARY, STREAM]) {
      expect(await statusOf(await send(path, { headers: headers("soon"), body: METADATA }))).toEqual([
        "3",
        "protocol error: invalid grpc timeout value: soon",
      ]);
    }
  });

  it("has a stream's requests given up when its reader leaves", async () => {
    const server = new EchoServer();
    const request = toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, { modelName: "echo" }));
    const { body, trailers } = await send(STREAM, { server, body: framed(request) });
    if (body instanceof Uint8Array) throw new Error("the body is whole");
    await body[Symbol.asyncIterator]().return?.();
    expect(headerValue((await trailers) ?? [], "grpc-status")).toBe("1");
    expect(server.signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it("may give a header more than once, in any bytes that HTTP has", async () => {
    const server = new EchoServer();
    const handler = createGrpcHandler({ handlers: server, headerForwardPattern: "^x-" });
    const request = toBinary(ModelInferRequestSchema, create(ModelInferRequestSchema, { modelName: "echo" }));
    const response = await handler({
      method: "POST",
      rawTarget: `${SERVICE}ModelInfer`,
      headers: [...plain, ["x-a", "1"], ["x-b", "\u00ff\u0001"], ["x-a", "2"]],
      body: framed(request),
      signal: new AbortController().signal,
    });
    expect((await statusOf(response))[0]).toBe("0");
    expect(server.lastInput()).toMatchObject({ parameters: { "x-a": "1, 2", "x-b": "\u00ff\u0001" } });
  });
});

describe("a page", () => {
  it("streams the responses to one request: the bytes of a stream both ways are the same", async () => {
    const { transport } = await connect("gRPC-Web", { handlers: new EchoServer() });
    const oneRequest = {
      ...GRPCInferenceService.method.modelStreamInfer,
      methodKind: "server_streaming",
    } as const;
    const requests = (async function* () {
      await Promise.resolve();
      yield create(ModelInferRequestSchema, { modelName: "echo", id: "7" });
    })();
    const { message } = await transport.stream(oneRequest, undefined, undefined, undefined, requests);
    const indexes: unknown[] = [];
    for await (const { inferResponse } of message) {
      expect(inferResponse?.id).toBe("7");
      indexes.push(inferResponse?.parameters["index"]?.parameterChoice.value);
    }
    expect(indexes).toEqual([0n, 1n, 2n]);
  });

  it("speaks Connect in JSON, as curl would", async () => {
    const handler = createGrpcHandler({
      handlers: fakeHandlers({ serverLive: () => Promise.resolve({ live: true }) }),
    });
    const response = await handler({
      method: "POST",
      rawTarget: `${SERVICE}ServerLive`,
      headers: [["content-type", "application/json"]],
      body: new TextEncoder().encode("{}"),
      signal: new AbortController().signal,
    });
    const [bytes] = await piecesOf(response);
    expect([response.status, new TextDecoder().decode(bytes)]).toEqual([200, '{"live":true}']);
  });
});
