import type { InferenceRequest, JsonObject, OperationInput, OperationName } from "@naiad/protocol";
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

/** Throws INVALID_ARG for what cannot be said over HTTP. The input's bytes are copied into the body. */
export function httpCallOf<Name extends OperationName>(
  operation: Name,
  input: OperationInput<Name>,
): HttpCall {
  return {
    method: OPERATIONS[operation].method,
    path: pathOf(operation, input),
    ...BODIES[operation](input),
  };
}

type Body = Pick<HttpCall, "headers" | "body">;

const BODIES: { readonly [Name in OperationName]: (input: OperationInput<Name>) => Body } = {
  serverLive: noBody,
  serverReady: noBody,
  serverMetadata: noBody,
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
};

function noBody(): Body {
  return { headers: {} };
}

function jsonBody(value: JsonObject): Body {
  return { headers: { "content-type": "application/json" }, body: encodeJson(value) };
}

/** All tensors in binary, both ways: half the bytes of JSON and the only way for FP16 and BF16. */
function inferBody(request: InferenceRequest): Body {
  const tensors = allTensors("binary");
  const { body, headerLength } = encodeInferRequest(request, { inputs: tensors, outputs: tensors });
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
  const model = "modelName" in input ? String(input.modelName) : undefined;
  const version = "modelVersion" in input ? String(input.modelVersion) : "";
  if (model === "" && operation !== "modelStatistics") {
    throw new InferenceError("INVALID_ARG", "model name cannot be empty");
  }
  const template = OPERATIONS[operation].paths.find(
    (path) =>
      !path.includes("{repository}") &&
      path.includes("{model}") === Boolean(model) &&
      path.includes("{version}") === (version !== ""),
  );
  invariant(
    template !== undefined,
    `${operation} has no path for model '${model ?? ""}' version '${version}'`,
  );
  return template
    .replace("{model}", () => encodeURIComponent(model ?? ""))
    .replace("{version}", () => encodeURIComponent(version));
}
