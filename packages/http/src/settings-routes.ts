import {
  asBoolean,
  asString,
  asUnsigned,
  elementsOf,
  findMember,
  type JsonNode,
  type LogSettingsUpdate,
  memberAsArray,
  parseRequestJson,
  type TraceSettingsUpdate,
} from "@naiad/protocol";
import { contextOf, jsonMessage } from "./responses.ts";
import type { Route, RouteCall } from "./route.ts";

/** Settings of traces and log: GET reads them, POST changes them and answers with what they are then. */
export const SETTINGS_ROUTES: { readonly [Name in "traceSetting" | "logSettings"]: Route } = {
  async traceSetting(call) {
    const { traceSetting } = call.options.handlers;
    const { modelName } = call.reference;
    if (call.request.method !== "POST")
      return jsonMessage(await traceSetting({ modelName }, contextOf(call)));
    let update: TraceSettingsUpdate;
    try {
      update = readTraceUpdate(parseBody(call));
    } catch (thrown) {
      // An unknown model goes before anything that is wrong with the body.
      await traceSetting({ modelName }, contextOf(call));
      throw thrown;
    }
    return jsonMessage(await traceSetting({ modelName, update }, contextOf(call)));
  },

  async logSettings(call) {
    const { logSettings } = call.options.handlers;
    const change = call.request.method === "POST" ? { update: readLogUpdate(parseBody(call)) } : {};
    return jsonMessage(await logSettings(change, contextOf(call)));
  },
};

/** Unlike the body of other operations this one must be there. */
function parseBody({ request, options }: RouteCall): JsonNode {
  return parseRequestJson(request.body, options.maxInputSize);
}

function readTraceUpdate(body: JsonNode): TraceSettingsUpdate {
  // Refused, whatever else is wrong.
  if (findMember(body, "trace_file") !== undefined) return { trace_file: null };
  const level = findMember(body, "trace_level");
  const texts = ["trace_rate", "trace_count", "log_frequency"].flatMap((name) => {
    const node = findMember(body, name);
    return node === undefined ? [] : [[name, orNull(node, asString)] as const];
  });
  return {
    ...(level !== undefined && { trace_level: orNull(level, () => readLevel(body)) }),
    ...Object.fromEntries(texts),
  };
}

function readLevel(body: JsonNode): readonly string[] {
  return elementsOf(memberAsArray(body, "trace_level")).map((word) => asString(word));
}

function readLogUpdate(body: JsonNode): LogSettingsUpdate {
  const file = findMember(body, "log_file") ?? null;
  // Refused, whatever else is wrong.
  if (file !== null) return { log_file: "" };
  const member = <Value>(name: string, read: (node: JsonNode) => Value): Value | null =>
    orNull(findMember(body, name) ?? null, read);
  return {
    log_info: member("log_info", asBoolean),
    log_warning: member("log_warning", asBoolean),
    log_error: member("log_error", asBoolean),
    log_verbose_level: member("log_verbose_level", (node) => Number(asUnsigned(node))),
    log_format: member("log_format", asString),
  };
}

function orNull<Value>(node: JsonNode, read: (node: JsonNode) => Value): Value | null {
  return node === null ? null : read(node);
}
