import { cpus } from "node:os";
import type { ElementArray, FixedDatatype } from "../src/index.ts";
import { allTensors, bytesOf, decodeInferRequest, encodeInferResponse } from "../src/index.ts";

/**
 * Ratios of the infer codec to the engine's own JSON (and UTF-8) on the same content: 150,528 elements, a 224 x 224 RGB
 * image. Both sides take turns, so that what disturbs the machine disturbs both.
 * Run with `npm run bench:json`.
 */
const COUNT = 150_528;
const ROUNDS = 41;
const WARM_UP = 5;
const SHAPE = [1, 3, 224, 224];

interface Case {
  readonly name: string;
  readonly datatype: FixedDatatype;
  readonly elements: ElementArray;
  /** Whether the ratio must stay at or below 1.5. */
  readonly goal?: "1.5";
}

function fill<Elements extends ElementArray>(
  elements: Elements,
  value: (index: number) => Elements[number],
): Elements {
  for (let index = 0; index < elements.length; index++) elements[index] = value(index);
  return elements;
}

/** The same numbers in each run. */
function random(index: number): number {
  const value = Math.sin(index * 12.9898) * 43758.5453;
  return value - Math.floor(value);
}

const CASES: readonly Case[] = [
  { name: "random", datatype: "FP32", elements: fill(new Float32Array(COUNT), random), goal: "1.5" },
  {
    name: "pixels 0..255",
    datatype: "FP32",
    elements: fill(new Float32Array(COUNT), (index) => index % 256),
  },
  {
    name: "one third integral",
    datatype: "FP32",
    elements: fill(new Float32Array(COUNT), (index) => (index % 3 === 0 ? index % 256 : random(index))),
  },
  { name: "random", datatype: "FP64", elements: fill(new Float64Array(COUNT), random) },
  { name: "pixels 0..255", datatype: "UINT8", elements: fill(new Uint8Array(COUNT), (index) => index % 256) },
  {
    name: "all sizes",
    datatype: "INT32",
    elements: fill(new Int32Array(COUNT), (index) => (random(index) - 0.5) * 2 ** (index % 32)),
  },
  {
    name: "token ids",
    datatype: "INT64",
    elements: fill(new BigInt64Array(COUNT), (index) => BigInt(Math.floor(random(index) * 50_000))),
  },
];

interface Medians {
  readonly ours: number;
  readonly engine: number;
}

function medians(ours: () => unknown, engine: () => unknown): Medians {
  const times = { ours: [] as number[], engine: [] as number[] };
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    for (const [side, run] of [
      ["ours", ours],
      ["engine", engine],
    ] as const) {
      const start = performance.now();
      run();
      if (round >= WARM_UP) times[side].push(performance.now() - start);
    }
  }
  return { ours: median(times.ours), engine: median(times.engine) };
}

function median(times: number[]): number {
  times.sort((left, right) => left - right);
  return times[times.length >> 1] ?? NaN;
}

function report(what: string, { name, datatype, goal }: Case, { ours, engine }: Medians): void {
  const ratio = ours / engine;
  const verdict = goal === undefined ? "" : ratio <= Number(goal) ? `, within ${goal}` : `, OVER ${goal}`;
  console.log(
    `${what} ${datatype.padEnd(5)} ${name.padEnd(18)} ${ours.toFixed(2).padStart(6)} ms, engine ` +
      `${engine.toFixed(2).padStart(6)} ms, ratio ${ratio.toFixed(2)}${verdict}`,
  );
}

const utf8 = new TextEncoder();
const text = new TextDecoder();

function decodeCase(one: Case): void {
  const { datatype, elements } = one;
  const data = Array.from(elements, Number);
  const body = utf8.encode(JSON.stringify({ inputs: [{ name: "INPUT", datatype, shape: SHAPE, data }] }));
  const source = {
    modelName: "m",
    modelVersion: "",
    body,
    headerLength: body.length,
    maxInputSize: 64 * 1024 * 1024,
  };
  const ours = (): unknown => decodeInferRequest(source);
  report(
    "decode",
    one,
    medians(ours, () => JSON.parse(text.decode(body)) as unknown),
  );
}

function encodeCase(one: Case): void {
  const { datatype, elements } = one;
  const output = { kind: "bytes", name: "OUTPUT", datatype, shape: SHAPE, bytes: bytesOf(elements) } as const;
  const response = { modelName: "m", modelVersion: "1", id: "", parameters: {}, outputs: [output] };
  // An application that has plain numbers pays nothing for them.
  const plain = {
    ...response,
    outputs: [{ ...output, bytes: undefined, data: Array.from(elements, Number) }],
  };
  const ours = (): unknown => encodeInferResponse(response, allTensors("json"));
  report(
    "encode",
    one,
    medians(ours, () => utf8.encode(JSON.stringify(plain))),
  );
}

const [cpu] = cpus();
console.log(
  `${cpu?.model ?? "unknown processor"}, ${String(cpus().length)} cores, Node ${process.version}, ` +
    `V8 ${process.versions.v8}; ${String(COUNT)} elements, median of ${String(ROUNDS)}`,
);
for (const one of CASES) {
  decodeCase(one);
  encodeCase(one);
}
