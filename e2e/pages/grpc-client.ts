import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { GRPCInferenceService, ModelInferRequestSchema, type ModelStreamInferResponse } from "@naiad/grpc";

export type WebProtocol = "gRPC-Web" | "Connect";

export function transportOf(protocol: WebProtocol, baseUrl: string): Transport {
  return protocol === "Connect" ? createConnectTransport({ baseUrl }) : createGrpcWebTransport({ baseUrl });
}

export function clientOf(protocol: WebProtocol, baseUrl: string): Client<typeof GRPCInferenceService> {
  return createClient(GRPCInferenceService, transportOf(protocol, baseUrl));
}

/** What a page can do of a stream both ways: the same bytes, with one request. */
const ONE_REQUEST = {
  ...GRPCInferenceService.method.modelStreamInfer,
  methodKind: "server_streaming",
} as const;

export async function* streamInfer(
  transport: Transport,
  request: MessageInitShape<typeof ModelInferRequestSchema>,
  signal?: AbortSignal,
): AsyncGenerator<ModelStreamInferResponse> {
  const requests = (async function* () {
    yield await Promise.resolve(create(ModelInferRequestSchema, request));
  })();
  yield* (await transport.stream(ONE_REQUEST, signal, undefined, undefined, requests)).message;
}

/** `[code, text]` of a call that fails. */
export async function failureOf(call: Promise<unknown>): Promise<readonly [code: number, text: string]> {
  try {
    await call;
  } catch (thrown) {
    const { code, rawMessage } = ConnectError.from(thrown);
    return [code, rawMessage];
  }
  throw new Error("it did not fail");
}
