import type { InferCall, InferenceClient, InferOutput } from "@naiad/client";
import type { BytesTensor, InferenceRequest } from "@naiad/protocol";
import { decodeBytesElements, InferenceError, invariant, typedElements } from "@naiad/protocol";
import type { PerfTarget } from "./target.ts";

type Inputs = InferCall["inputs"];

/**
 * A server behind a client, whatever its transport. What the client does to encode and decode is part of what is measured.
 * Requests to decoupled models go the way of streams.
 */
export function createClientTarget(
  client: InferenceClient,
  { name, nowNs }: { readonly name: string; readonly nowNs: () => number },
): PerfTarget {
  /** Made once for the same tensors. */
  const made = new WeakMap<InferenceRequest["inputs"], Inputs>();
  const decoupled = new Map<string, boolean>();

  const callOf = (request: InferenceRequest): InferCall => {
    const inputs = made.get(request.inputs) ?? inputsOf(request);
    made.set(request.inputs, inputs);
    return { ...headOf(request), inputs };
  };

  return {
    name,
    modelMetadata: (modelName, modelVersion) => client.modelMetadata(modelName, versionOption(modelVersion)),
    modelConfig: async (modelName, modelVersion) => {
      const config = await orUntold(client.modelConfig(modelName, versionOption(modelVersion)));
      const policy = config?.["model_transaction_policy"] as { readonly decoupled?: boolean } | undefined;
      decoupled.set(modelName, policy?.decoupled === true);
      return config;
    },
    modelStatistics: (modelName) => orUntold(client.modelStatistics(modelName)),
    infer: async (request, signal) => {
      const call = callOf(request);
      if (decoupled.get(request.modelName) !== true) {
        const { outputs } = await client.infer(call, { signal });
        return { responses: 1, outputs: () => tensorsOf(outputs) };
      }
      const startNs = nowNs();
      const responseNs: number[] = [];
      let first: Readonly<Record<string, InferOutput>> = {};
      for await (const { outputs } of client.inferStream(call, { signal })) {
        if (Object.keys(outputs).length === 0) continue;
        if (responseNs.length === 0) first = outputs;
        responseNs.push(nowNs() - startNs);
      }
      return { responses: responseNs.length, responseNs, outputs: () => tensorsOf(first) };
    },
  };
}

/** The call of a client that makes this request, whose tensors are bytes. */
export function inferCallOf(request: InferenceRequest): InferCall {
  return { ...headOf(request), inputs: inputsOf(request) };
}

function headOf({
  modelName,
  modelVersion,
  parameters,
  sequence,
}: InferenceRequest): Omit<InferCall, "inputs"> {
  return {
    modelName,
    ...versionOption(modelVersion),
    parameters,
    ...(sequence !== undefined && { sequence }),
  };
}

function inputsOf({ inputs }: InferenceRequest): Inputs {
  return Object.fromEntries(
    inputs.map((tensor) => {
      invariant(tensor.kind === "bytes", "requests to measure with are made of bytes");
      return [tensor.name, contentOf(tensor)];
    }),
  );
}

function tensorsOf(outputs: Readonly<Record<string, InferOutput>>): readonly BytesTensor[] {
  return Object.values(outputs).map(({ datatype, name, raw, shape }) => ({
    kind: "bytes",
    name,
    datatype,
    shape,
    bytes: raw,
  }));
}

/** What servers of the V2 protocol need not have. */
async function orUntold<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  try {
    return await answer;
  } catch (thrown) {
    if (thrown instanceof InferenceError && ["NOT_FOUND", "UNSUPPORTED"].includes(thrown.code))
      return undefined;
    throw thrown;
  }
}

function versionOption(modelVersion: string): { readonly modelVersion?: string } {
  return modelVersion === "" ? {} : { modelVersion };
}

function contentOf({ name, datatype, shape, bytes }: BytesTensor): Inputs[string] {
  const data = datatype === "BYTES" ? decodeBytesElements(bytes, name) : typedElements(datatype, bytes);
  return { data, shape, datatype };
}
