import type {
  InferenceRequest,
  JsonObject,
  OperationInput,
  OperationName,
  TensorTransfer,
} from "@naiad/protocol";
import {
  InferenceError,
  OPERATIONS,
  allTensors,
  encodeInferRequest,
  encodeJson,
  invariant,
} from "@naiad/protocol";
import { base64Of } from "./base64.ts";

/** A request of Triton's HTTP API, without the server's address. */
export interface HttpCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

/**
 * Throws INVALID_ARG for what cannot be said over HTTP. The input's bytes are copied into the body. Tensors travel as
 * `transfer` says, in both directions.
 */
export function httpCallOf<Name extends OperationName>(
  operation: Name,
  input: OperationInput<Name>,
  transfer: TensorTransfer = "binary",
): HttpCall {
  const content = BODIES[operation](input, transfer);
  const [withoutBody, withBody = withoutBody] = OPERATIONS[operation].methods;
  const method = content.body === undefined ? withoutBody : withBody;
  invariant(method !== undefined, `${operation} has a method`);
  return { method, path: pathOf(operation, input), ...content };
}

type Body = Pick<HttpCall, "headers" | "body">;

const BODIES: {
  readonly [Name in OperationName]: (input: OperationInput<Name>, transfer: TensorTransfer) => Body;
} = {
  serverLive: noBody,
  serverReady: noBody,
  serverMetadata: noBody,
  serverMetrics: noBody,
  modelReady: noBody,
  modelMetadata: noBody,
  modelConfig: noBody,
  modelStatistics: noBody,
  modelInfer: inferBody,
  repositoryIndex: ({ ready }) => jsonBody({ ready }),
  repositoryModelLoad: ({ config, files = {} }) =>
    jsonBody({
      parameters: {
        ...(config !== undefined && { config }),
        ...Object.fromEntries(
          Object.entries(files).map(([path, bytes]) => [`file:${path}`, base64Of(bytes)] as const),
        ),
      },
    }),
  repositoryModelUnload: ({ unloadDependents }) =>
    jsonBody({ parameters: { unload_dependents: unloadDependents } }),
  traceSetting: ({ update }) => (update === undefined ? noBody() : jsonBody({ ...update })),
  logSettings: ({ update }) => (update === undefined ? noBody() : jsonBody({ ...update })),
  systemSharedMemoryStatus: noBody,
  systemSharedMemoryRegister: ({ key, offset, byteSize }) => jsonBody({ key, offset, byte_size: byteSize }),
  systemSharedMemoryUnregister: noBody,
  cudaSharedMemoryStatus: noBody,
  cudaSharedMemoryRegister: ({ rawHandle, deviceId, byteSize }) =>
    jsonBody({ raw_handle: { b64: base64Of(rawHandle) }, device_id: deviceId, byte_size: byteSize }),
  cudaSharedMemoryUnregister: noBody,
};

function noBody(): Body {
  return { headers: {} };
}

function jsonBody(value: JsonObject): Body {
  return { headers: { "content-type": "application/json" }, body: encodeJson(value) };
}

/** Binary has half the bytes of JSON and is the only way for FP16 and BF16. */
function inferBody(request: InferenceRequest, transfer: TensorTransfer): Body {
  const tensors = allTensors(transfer);
  const { body, headerLength } = encodeInferRequest(request, { inputs: tensors, outputs: tensors });
  if (transfer === "json") return { headers: { "content-type": "application/json" }, body };
  return {
    headers: {
      "content-type": "application/octet-stream",
      "inference-header-content-length": String(headerLength),
    },
    body,
  };
}

/** The operation's path that names as much as `input` does. Names are quoted as Triton's own client quotes them. */
function pathOf(operation: OperationName, input: object): string {
  const names = namesIn(input);
  if ("modelName" in input && names.model === "" && !WITHOUT_MODEL.has(operation)) {
    throw new InferenceError("INVALID_ARG", "model name cannot be empty");
  }
  const parts = Object.entries(names).map(([name, text]) => [`{${name}}`, text] as const);
  const template = OPERATIONS[operation].paths.find(
    (path) =>
      !path.includes("{repository}") && parts.every(([part, text]) => path.includes(part) === (text !== "")),
  );
  invariant(template !== undefined, `${operation} has no path for ${JSON.stringify(names)}`);
  return parts.reduce((path, [part, text]) => path.replace(part, () => encodeURIComponent(text)), template);
}

/** Operations that mean all models where none is named. */
const WITHOUT_MODEL: ReadonlySet<OperationName> = new Set(["modelStatistics", "traceSetting"]);

function namesIn(input: object): {
  readonly model: string;
  readonly version: string;
  readonly region: string;
} {
  const text = (key: string): string => {
    const value: unknown = Reflect.get(input, key);
    return typeof value === "string" ? value : "";
  };
  return {
    model: text("modelName"),
    version: text("modelVersion"),
    region: text("regionName"),
  };
}
