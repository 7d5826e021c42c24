import { InferenceError } from "@naiad/protocol";
import type { ByteSource } from "./byte-source.ts";
import { foreignFile, HEAD_SIZE } from "./foreign-file.ts";
import type { OnnxValue } from "./onnx-value.ts";
import { readOnnxValue } from "./onnx-value.ts";
import type { WireField } from "./wire-reader.ts";
import { integerOf, WireReader } from "./wire-reader.ts";

/** What a model's file says about itself, read without its weights. */
export interface OnnxModel {
  readonly irVersion: number;
  readonly opsets: readonly { readonly domain: string; readonly version: number }[];
  /** The graph's inputs in its order, without those that have an initializer. */
  readonly inputs: readonly OnnxValue[];
  /** Inputs that may be left out because an initializer stands in for them (from IR version 4 on). */
  readonly overridableInitializers: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly initializerNames: ReadonlySet<string>;
  /** Files beside the model that hold weights, relative to its directory, each once. */
  readonly externalFiles: readonly string[];
}

/** Graphs and messages nested deeper than any real model; protobuf itself stops at 100 messages. */
const MAX_DEPTH = 64;

/**
 * Reads a `ModelProto`. `source` is asked for windows of 16 KiB and never for the weights. INVALID_ARG, with the byte
 * and what the file is instead, for truncated or other bytes; rejections of `source.read` pass through.
 */
export async function readOnnxModel(source: ByteSource): Promise<OnnxModel> {
  const reading = new OnnxReading(source);
  try {
    await reading.model();
    return reading.result();
  } catch (thrown) {
    if (!(thrown instanceof InferenceError) || thrown.code !== "INVALID_ARG") throw thrown;
    const what = foreignFile(await source.read(0, Math.min(HEAD_SIZE, source.size)));
    if (what === undefined && !reading.isUnreadable) throw thrown;
    const hint = `this is not an ONNX file${what === undefined ? ", or not a whole one" : `, it is ${what}`}`;
    throw new InferenceError(thrown.code, `${thrown.message}: ${hint}`, { cause: thrown });
  }
}

/** Field numbers of onnx.proto, by message. */
const FIELD = {
  model: { irVersion: 1, graph: 7, opsetImport: 8, functions: 25 },
  opset: { domain: 1, version: 2 },
  function: { node: 7 },
  graph: { node: 1, initializer: 5, input: 11, output: 12, sparseInitializer: 15 },
  node: { attribute: 5 },
  attribute: { tensor: 5, graph: 6, tensors: 10, graphs: 11, sparseTensor: 22, sparseTensors: 23 },
  tensor: { name: 8, externalData: 13 },
  sparseTensor: { values: 1, indices: 2 },
  entry: { key: 1, value: 2 },
} as const;

/** The walk over one model and what it has found so far. */
class OnnxReading {
  readonly #source: ByteSource;
  readonly #reader: WireReader;
  readonly #opsets: { domain: string; version: number }[] = [];
  readonly #inputs: OnnxValue[] = [];
  readonly #outputs: OnnxValue[] = [];
  readonly #initializerNames = new Set<string>();
  readonly #externalFiles = new Set<string>();
  #irVersion = 0;
  #hasGraph = false;
  #fieldCount = 0;

  constructor(source: ByteSource) {
    this.#source = source;
    this.#reader = new WireReader(source, "ONNX model");
  }

  async model(): Promise<void> {
    await this.#reader.forEachField(0, this.#source.size, (field) => {
      this.#fieldCount += 1;
      switch (field.number) {
        case FIELD.model.irVersion:
          this.#irVersion = integerOf(field);
          return undefined;
        case FIELD.model.opsetImport:
          return this.#opset(field);
        case FIELD.model.graph:
          this.#hasGraph = true;
          return this.#graph(field, 0);
        case FIELD.model.functions:
          return this.#reader.forEachFieldIn(field, (inner) =>
            inner.number === FIELD.function.node ? this.#node(inner, 0) : undefined,
          );
        default:
          return undefined;
      }
    });
  }

  /** Nothing of the file made sense, from its first byte on. */
  get isUnreadable(): boolean {
    return this.#fieldCount === 0;
  }

  result(): OnnxModel {
    if (!this.#hasGraph)
      throw new InferenceError("INVALID_ARG", "failed to read ONNX model: there is no graph in it");
    const hasInitializer = ({ name }: OnnxValue): boolean => this.#initializerNames.has(name);
    return {
      irVersion: this.#irVersion,
      opsets: this.#opsets,
      inputs: this.#inputs.filter((input) => !hasInitializer(input)),
      overridableInitializers: this.#irVersion >= 4 ? this.#inputs.filter(hasInitializer) : [],
      outputs: this.#outputs,
      initializerNames: this.#initializerNames,
      externalFiles: [...this.#externalFiles],
    };
  }

  async #opset(field: WireField): Promise<void> {
    let domain = "";
    let version = 0;
    await this.#reader.forEachFieldIn(field, async (inner) => {
      if (inner.number === FIELD.opset.domain) domain = await this.#reader.text(inner);
      if (inner.number === FIELD.opset.version) version = integerOf(inner);
    });
    this.#opsets.push({ domain, version });
  }

  /** Depth 0 is the model's own graph; the graphs inside its nodes only matter for their external data. */
  async #graph(field: WireField, depth: number): Promise<void> {
    if (depth > MAX_DEPTH)
      throw new InferenceError("INVALID_ARG", "failed to read ONNX model: graphs are nested too deep");
    await this.#reader.forEachFieldIn(field, async (inner) => {
      switch (inner.number) {
        case FIELD.graph.node:
          await this.#node(inner, depth);
          return;
        case FIELD.graph.initializer: {
          const name = await this.#tensor(inner);
          if (depth === 0) this.#initializerNames.add(name);
          return;
        }
        case FIELD.graph.sparseInitializer: {
          const name = await this.#sparseTensor(inner);
          if (depth === 0) this.#initializerNames.add(name);
          return;
        }
        case FIELD.graph.input:
          if (depth === 0) this.#inputs.push(await readOnnxValue(this.#reader, inner));
          return;
        case FIELD.graph.output:
          if (depth === 0) this.#outputs.push(await readOnnxValue(this.#reader, inner));
          return;
        default:
      }
    });
  }

  async #node(field: WireField, depth: number): Promise<void> {
    await this.#reader.forEachFieldIn(field, (inner) =>
      inner.number === FIELD.node.attribute ? this.#attribute(inner, depth) : undefined,
    );
  }

  async #attribute(field: WireField, depth: number): Promise<void> {
    await this.#reader.forEachFieldIn(field, async (inner) => {
      switch (inner.number) {
        case FIELD.attribute.tensor:
        case FIELD.attribute.tensors:
          await this.#tensor(inner);
          return;
        case FIELD.attribute.graph:
        case FIELD.attribute.graphs:
          await this.#graph(inner, depth + 1);
          return;
        case FIELD.attribute.sparseTensor:
        case FIELD.attribute.sparseTensors:
          await this.#sparseTensor(inner);
          return;
        default:
      }
    });
  }

  /** Notes the tensor's external file and returns its name. */
  async #tensor(field: WireField): Promise<string> {
    let name = "";
    await this.#reader.forEachFieldIn(field, async (inner) => {
      if (inner.number === FIELD.tensor.name) name = await this.#reader.text(inner);
      if (inner.number === FIELD.tensor.externalData) await this.#externalData(inner);
    });
    return name;
  }

  async #sparseTensor(field: WireField): Promise<string> {
    let name = "";
    await this.#reader.forEachFieldIn(field, async (inner) => {
      if (inner.number === FIELD.sparseTensor.values) name = await this.#tensor(inner);
      if (inner.number === FIELD.sparseTensor.indices) await this.#tensor(inner);
    });
    return name;
  }

  async #externalData(field: WireField): Promise<void> {
    let key = "";
    let value = "";
    await this.#reader.forEachFieldIn(field, async (inner) => {
      if (inner.number === FIELD.entry.key) key = await this.#reader.text(inner);
      if (inner.number === FIELD.entry.value) value = await this.#reader.text(inner);
    });
    if (key === "location") this.#externalFiles.add(value);
  }
}
