import { cpus, loadavg } from "node:os";
import { createGrpcHandler } from "@naiad/grpc";
import { createHttpHandler } from "@naiad/http";
import type {
  BytesTensor,
  ExchangeResponse,
  HeaderList,
  InferenceStreamResponse,
  OperationHandlers,
  StreamingExchangeRequest,
} from "@naiad/protocol";
import { headerValue } from "@naiad/protocol";
import { createNoOpBackend, fakeHandlers, noOpConfig, startNoOpServer } from "@naiad/testing";

/**
 * What an inference request costs in the handlers of HTTP and of gRPC, beside each other: the same tensor as binary data and
 * as raw content, the same model, which does nothing. First with operations that answer at once, so that only the handlers
 * are measured, then with a whole server behind them. CPU time of all threads, one request after the other, sides take turns
 * and the best of the rounds counts: what disturbs only ever adds.
 * Run with `npm run bench:grpc`.
 */
const ROUNDS = 7;
const SIZES = [
  { name: "1 KB", elements: 256, requests: 5_000 },
  { name: "600 KB", elements: 150_528, requests: 200 },
] as const;
const STREAMED = 50;

interface Side {
  readonly name: string;
  /** Answers so many requests. */
  readonly work: (requests: number) => Promise<void>;
}

const utf8 = new TextEncoder();

function tensor(name: string, elements: number): BytesTensor {
  return {
    kind: "bytes",
    name,
    datatype: "INT32",
    shape: [1, elements],
    bytes: new Uint8Array(4 * elements),
  };
}

function httpSide(handlers: OperationHandlers, elements: number): Side {
  const handle = createHttpHandler({ handlers, maxInputSize: 2 ** 31 - 1 });
  const { bytes, ...head } = tensor("x", elements);
  const json = utf8.encode(
    JSON.stringify({
      inputs: [
        {
          name: head.name,
          datatype: head.datatype,
          shape: head.shape,
          parameters: { binary_data_size: bytes.length },
        },
      ],
      parameters: { binary_data_output: true },
    }),
  );
  const body = new Uint8Array(json.length + bytes.length);
  body.set(json);
  body.set(bytes, json.length);
  const headers: HeaderList = [
    ["host", "localhost:8000"],
    ["content-type", "application/octet-stream"],
    ["content-length", String(body.length)],
    ["inference-header-content-length", String(json.length)],
  ];
  return {
    name: "HTTP",
    work: async (requests) => {
      for (let done = 0; done < requests; done += 1) {
        const { status } = await handle({
          method: "POST",
          rawTarget: "/v2/models/m/infer",
          headers,
          body,
          signal: new AbortController().signal,
        });
        if (status !== 200) throw new Error(`HTTP answered ${String(status)}`);
      }
    },
  };
}

/** A ModelInferRequest in its frame. */
function grpcFrame(elements: number): Uint8Array {
  const { name, datatype, shape, bytes } = tensor("x", elements);
  const input = [
    ...field(1, utf8.encode(name)),
    ...field(2, utf8.encode(datatype)),
    ...field(3, Uint8Array.from(shape.flatMap(varint))),
  ];
  const message = Buffer.concat([
    ...field(1, utf8.encode("m")),
    ...field(5, Buffer.concat(input)),
    ...field(7, bytes),
  ]);
  const frame = new Uint8Array(5 + message.length);
  new DataView(frame.buffer).setUint32(1, message.length);
  frame.set(message, 5);
  return frame;
}

/** A field of Protocol Buffers whose content has a length. */
function field(number: number, content: Uint8Array): readonly Uint8Array[] {
  return [Uint8Array.of((number << 3) | 2, ...varint(content.length)), content];
}

function varint(value: number): readonly number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
}

const GRPC_HEADERS: HeaderList = [
  ["te", "trailers"],
  ["content-type", "application/grpc"],
  ["user-agent", "grpc-python/1.60.0"],
  ["grpc-accept-encoding", "identity, deflate, gzip"],
];

function grpcSide(handlers: OperationHandlers, elements: number, more: HeaderList = []): Side {
  const handle = createGrpcHandler({ handlers });
  const frame = grpcFrame(elements);
  return {
    name: more.length === 0 ? "gRPC" : "gRPC with a deadline",
    work: async (requests) => {
      for (let done = 0; done < requests; done += 1) {
        await checkAnswer(
          await handle({
            method: "POST",
            rawTarget: "/inference.GRPCInferenceService/ModelInfer",
            headers: [...GRPC_HEADERS, ...more],
            body: inPieces(frame, 1),
            signal: new AbortController().signal,
          }),
        );
      }
    },
  };
}

function streamSide(handlers: OperationHandlers, elements: number): Side {
  const handle = createGrpcHandler({ handlers });
  const frame = grpcFrame(elements);
  return {
    name: "gRPC stream",
    work: async (requests) => {
      for (let done = 0; done < requests; done += STREAMED) {
        await checkAnswer(
          await handle({
            method: "POST",
            rawTarget: "/inference.GRPCInferenceService/ModelStreamInfer",
            headers: GRPC_HEADERS,
            body: inPieces(frame, STREAMED),
            signal: new AbortController().signal,
          }),
        );
      }
    },
  };
}

/** As the tunnel brings a body. */
async function* inPieces(
  frame: Uint8Array,
  count: number,
): StreamingExchangeRequest["body"] & AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < count; sent += 1) yield await Promise.resolve(frame);
}

async function checkAnswer({ body, trailers }: ExchangeResponse): Promise<void> {
  if (!(body instanceof Uint8Array))
    for await (const piece of body) if (piece.length === 0) throw new Error("nothing");
  const status = headerValue((await trailers) ?? [], "grpc-status");
  if (status !== "0") throw new Error(`gRPC answered ${String(status)}`);
}

/** Operations that cost nothing. */
function instantHandlers(elements: number): OperationHandlers {
  const response = {
    modelName: "m",
    modelVersion: "1",
    id: "",
    parameters: {},
    outputs: [tensor("y", elements)],
  };
  return fakeHandlers({
    modelConfig: () => Promise.resolve({}),
    modelInfer: () => Promise.resolve(response),
    modelStreamInfer: () =>
      Promise.resolve(
        (async function* (): AsyncGenerator<InferenceStreamResponse> {
          yield await Promise.resolve({ ...response, final: true });
        })(),
      ),
  });
}

/** Microseconds of CPU per request, the best of the rounds, for each side. */
async function measure(sides: readonly Side[], requests: number): Promise<readonly number[]> {
  const best = sides.map(() => Infinity);
  for (let round = -1; round < ROUNDS; round += 1) {
    for (const [at, { work }] of sides.entries()) {
      const start = process.cpuUsage();
      await work(requests);
      const { user, system } = process.cpuUsage(start);
      if (round >= 0) best[at] = Math.min((user + system) / requests, best[at] ?? Infinity);
    }
  }
  return best;
}

function report(what: string, sides: readonly Side[], costs: readonly number[]): void {
  const [http = Number.NaN] = costs;
  const cells = sides.map(({ name }, at) => {
    const cost = costs[at] ?? Number.NaN;
    return `${name} ${cost.toFixed(1)} us${at === 0 ? "" : ` (x ${(cost / http).toFixed(2)})`}`;
  });
  console.log(`${what.padEnd(26)} ${cells.join(", ")}`);
}

console.log(
  `Machine: ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, load ${loadavg()[0]?.toFixed(2) ?? "?"}, Node ${process.versions.node}`,
);
console.log(
  `Microseconds of CPU per request, the best of ${ROUNDS} rounds; in brackets, how many times HTTP's.`,
);
for (const { name, elements, requests } of SIZES) {
  const sidesOf = (handlers: OperationHandlers): readonly Side[] => [
    httpSide(handlers, elements),
    grpcSide(handlers, elements),
    grpcSide(handlers, elements, [["grpc-timeout", "30S"]]),
    streamSide(handlers, elements),
  ];
  const alone = sidesOf(instantHandlers(elements));
  report(`${name}, handlers alone`, alone, await measure(alone, requests));
  const backend = createNoOpBackend({ kind: "response", outputs: [tensor("y", elements)], parameters: {} });
  const server = await startNoOpServer(backend, noOpConfig("", elements));
  const whole = sidesOf(server);
  report(`${name}, whole server`, whole, await measure(whole, requests));
  await server.stop();
}
