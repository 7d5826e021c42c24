import type { Backend, InstanceOutcome, InstanceRequest, ModelInstance } from "@naiad/core";
import type { BytesTensor } from "@naiad/protocol";
import { InferenceError, invariant } from "@naiad/protocol";

/** A stand-in for Triton's Python backend that runs the two programs of the oracle's models. */
export const programBackend: Backend = {
  name: "python",
  preferredDevice: "cpu",
  prepare: ({ config }) => Promise.resolve(config),
  createInstance: ({ model }) => {
    const isSum = model.config.input.length === 2 && model.config.output.length === 2;
    return Promise.resolve(instance(isSum ? sumAndDifference : identity));
  },
};

type Program = (inputs: readonly BytesTensor[]) => readonly BytesTensor[];

function instance(program: Program): ModelInstance {
  return {
    device: { executionProvider: "other", build: "program", threads: 1 },
    execute: (requests) =>
      Promise.resolve({
        kind: "completed",
        outcomes: requests.map((request) => outcomeOf(program, request)),
        times: { computeInputNs: 0, computeInferNs: 0, computeOutputNs: 0 },
      }),
    lost: new Promise(() => undefined),
    dispose: () => Promise.resolve(),
  };
}

function outcomeOf(program: Program, { inputs, outputs }: InstanceRequest): InstanceOutcome {
  try {
    const given = inputs.map((tensor) => {
      invariant(tensor.kind === "bytes", "nothing here lies on a device");
      return tensor;
    });
    const made = program(given).filter(({ name }) => outputs.includes(name));
    return { kind: "response", outputs: made, parameters: {} };
  } catch (thrown) {
    return { kind: "error", error: InferenceError.from(thrown).toWire() };
  }
}

function identity(inputs: readonly BytesTensor[]): readonly BytesTensor[] {
  const value = required(inputs, "INPUT0");
  return [{ ...value, name: "OUTPUT0", bytes: value.bytes.slice() }];
}

function sumAndDifference(inputs: readonly BytesTensor[]): readonly BytesTensor[] {
  const left = required(inputs, "INPUT0");
  const right = words(required(inputs, "INPUT1"));
  const combined = (name: string, combine: (a: number, b: number) => number): BytesTensor => {
    const values = words(left).map((value, index) => combine(value, right[index] ?? 0));
    return { ...left, name, bytes: new Uint8Array(values.buffer) };
  };
  return [combined("OUTPUT0", (a, b) => a + b), combined("OUTPUT1", (a, b) => a - b)];
}

function required(inputs: readonly BytesTensor[], name: string): BytesTensor {
  const found = inputs.find((tensor) => tensor.name === name);
  if (found === undefined) throw new InferenceError("INVALID_ARG", `the program has no input '${name}'`);
  return found;
}

function words({ bytes }: BytesTensor): Int32Array<ArrayBuffer> {
  return new Int32Array(new Uint8Array(bytes).buffer);
}
