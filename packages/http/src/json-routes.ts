import {
  asBoolean,
  asString,
  findMember,
  InferenceError,
  type JsonNode,
  type JsonValue,
  membersOf,
  type OperationName,
  parseRequestJson,
  type RepositoryIndexEntry,
  type RepositoryModelLoad,
} from "@naiad/protocol";
import { decodeBase64 } from "./base64.ts";
import {
  contextOf,
  emptyJsonResponse,
  emptyResponse,
  errorText,
  jsonMessage,
  jsonResponse,
  respond,
} from "./responses.ts";
import type { Route, RouteCall } from "./route.ts";
import { SETTINGS_ROUTES } from "./settings-routes.ts";
import { SHARED_MEMORY_ROUTES } from "./shared-memory-routes.ts";

/** Prometheus takes the version as the promise of a format; Triton leaves it out. */
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Every operation but infer: little in, little JSON (or text) out. */
export const JSON_ROUTES: { readonly [Name in Exclude<OperationName, "modelInfer">]: Route } = {
  ...SETTINGS_ROUTES,
  ...SHARED_MEMORY_ROUTES,

  async serverLive(call) {
    const { live } = await call.options.handlers.serverLive({}, contextOf(call));
    return emptyResponse(live ? 200 : 400);
  },

  async serverReady(call) {
    const { ready } = await call.options.handlers.serverReady({}, contextOf(call));
    return emptyResponse(ready ? 200 : 400);
  },

  async serverMetadata(call) {
    return jsonMessage(await call.options.handlers.serverMetadata({}, contextOf(call)));
  },

  async serverMetrics(call) {
    const { text } = await call.options.handlers.serverMetrics({}, contextOf(call));
    return respond({ status: 200, contentType: METRICS_TYPE, body: new TextEncoder().encode(text) });
  },

  async modelReady(call) {
    const { ready } = await call.options.handlers.modelReady(call.reference, contextOf(call));
    return ready ? emptyResponse(200) : errorText(400, "Model version not ready");
  },

  async modelMetadata(call) {
    return jsonMessage(await call.options.handlers.modelMetadata(call.reference, contextOf(call)));
  },

  async modelConfig(call) {
    return jsonMessage(await call.options.handlers.modelConfig(call.reference, contextOf(call)));
  },

  async modelStatistics(call) {
    return jsonMessage(await call.options.handlers.modelStatistics(call.reference, contextOf(call)));
  },

  async repositoryIndex(call) {
    const ready = readReadyOnly(parseBody(call));
    const entries = await call.options.handlers.repositoryIndex({ ready }, contextOf(call));
    return jsonResponse(200, entries.map(indexEntry));
  },

  async repositoryModelLoad(call) {
    rejectRepository(call);
    const load = readLoad(call.reference.modelName, parseBody(call));
    await call.options.handlers.repositoryModelLoad(load, contextOf(call));
    return emptyJsonResponse();
  },

  async repositoryModelUnload(call) {
    rejectRepository(call);
    const unloadDependents = readUnloadDependents(parseBody(call));
    const { modelName } = call.reference;
    await call.options.handlers.repositoryModelUnload({ modelName, unloadDependents }, contextOf(call));
    return emptyJsonResponse();
  },
};

/** The body's document, or `null` when there is no body: all its fields are optional. */
function parseBody({ request, options }: RouteCall): JsonNode {
  return request.body.length === 0 ? null : parseRequestJson(request.body, options.maxInputSize);
}

function readReadyOnly(body: JsonNode): boolean {
  const ready = findMember(body, "ready") ?? false;
  if (typeof ready === "boolean") return ready;
  throw new InferenceError("INVALID_ARG", "Invalid value for 'ready': expected a boolean");
}

function indexEntry(entry: RepositoryIndexEntry): JsonValue {
  const { name, version = "", state, reason = "", instances } = entry;
  return {
    name,
    ...(version !== "" && { version }),
    ...(state !== undefined && { state }),
    ...(reason !== "" && { reason }),
    ...(instances !== undefined && { instances: instances.map((instance) => ({ ...instance })) }),
  };
}

function rejectRepository({ repository }: RouteCall): void {
  if (repository === "") return;
  throw new InferenceError("UNSUPPORTED", "'repository_name' specification is not supported");
}

const FILE_PREFIX = "file:";

function readLoad(modelName: string, body: JsonNode): RepositoryModelLoad {
  const parameters = findMember(body, "parameters");
  if (parameters === undefined) return { modelName };
  let config: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [name, node] of membersOf(parameters)) {
    const text = asString(node);
    if (name === "config") config = text;
    else if (name.startsWith(FILE_PREFIX)) files.set(name.slice(FILE_PREFIX.length), decodeBase64(text));
    else throw new InferenceError("INTERNAL", "unexpected error on creating Triton parameter");
  }
  return {
    modelName,
    ...(config !== undefined && { config }),
    ...(files.size > 0 && { files: Object.fromEntries(files) }),
  };
}

function readUnloadDependents(body: JsonNode): boolean {
  const node = findMember(findMember(body, "parameters") ?? null, "unload_dependents");
  return node !== undefined && asBoolean(node, "Unable to parse 'unload_dependents'");
}
