import { decodeInferRequest, encodeInferResponse, allTensors, bytesOf } from "../src/index.ts";

/**
 * Ratios of the infer codec to the engine's own JSON on the same content: 150,528 FP32 elements (a 224 x 224 RGB image).
 * Run with `npx tsx packages/protocol/bench/json.bench.ts`.
 */
const COUNT = 150_528;
const ROUNDS = 31;

const CASES: readonly (readonly [name: string, value: (index: number) => number])[] = [
  ["fractions", (index) => Math.sin(index)],
  ["pixels 0..255", (index) => index % 256],
  ["one third integral", (index) => (index % 3 === 0 ? index % 256 : Math.sin(index))],
];

function medianMs(run: () => unknown): number {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    run();
    times.push(performance.now() - start);
  }
  times.sort((left, right) => left - right);
  return times[ROUNDS >> 1] ?? NaN;
}

function report(name: string, ours: number, engine: number): void {
  console.log(
    `${name}: ${ours.toFixed(2)} ms, engine ${engine.toFixed(2)} ms, ratio ${(ours / engine).toFixed(2)}`,
  );
}

const utf8 = new TextEncoder();
const text = new TextDecoder();

for (const [name, value] of CASES) {
  const elements = Float32Array.from({ length: COUNT }, (_, index) => value(index));
  const shape = [1, 3, 224, 224];
  const request = { inputs: [{ name: "INPUT", datatype: "FP32", shape, data: Array.from(elements) }] };
  const body = utf8.encode(JSON.stringify(request));
  const source = {
    modelName: "m",
    modelVersion: "",
    body,
    headerLength: body.length,
    maxInputSize: 64 * 1024 * 1024,
  };
  report(
    `decode ${name}`,
    medianMs(() => decodeInferRequest(source)),
    medianMs(() => JSON.parse(text.decode(body)) as unknown),
  );

  const output = {
    kind: "bytes",
    name: "OUTPUT",
    datatype: "FP32",
    shape,
    bytes: bytesOf(elements),
  } as const;
  const response = { modelName: "m", modelVersion: "1", id: "", parameters: {}, outputs: [output] };
  const plain = { ...response, outputs: [{ ...output, bytes: undefined, data: Array.from(elements) }] };
  report(
    `encode ${name}`,
    medianMs(() => encodeInferResponse(response, allTensors("json"))),
    medianMs(() => utf8.encode(JSON.stringify(plain))),
  );
}
