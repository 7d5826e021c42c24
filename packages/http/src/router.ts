import { OPERATIONS, type OperationName } from "@naiad/protocol";

/** What a path says; `""` for what it does not say. Names are as they stood in the path, the version is digits. */
export interface RouteParameters {
  readonly model: string;
  readonly version: string;
  readonly repository: string;
}

export interface RouteMatch {
  readonly operation: OperationName;
  readonly method: "GET" | "POST";
  readonly parameters: RouteParameters;
}

export type Router = (path: string) => RouteMatch | undefined;

interface Route {
  readonly operation: OperationName;
  readonly method: "GET" | "POST";
  readonly segments: readonly Segment[];
}

type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "parameter"; readonly name: keyof RouteParameters };

/**
 * Compiles the table of operations. A raw path matches as a whole or not at all: no percent-decoding, no trailing slash,
 * versions of digits only. A literal goes before a parameter, so a model named `stats` has no metadata endpoint.
 */
export function createRouter(): Router {
  const bySegmentCount = new Map<number, Route[]>();
  for (const [name, { method, paths }] of Object.entries(OPERATIONS)) {
    for (const path of paths) {
      const segments = path.split("/").map(parseSegment);
      const routes = bySegmentCount.get(segments.length) ?? [];
      // The keys of the table are the names of the operations.
      routes.push({ operation: name as OperationName, method, segments });
      bySegmentCount.set(segments.length, routes);
    }
  }
  for (const routes of bySegmentCount.values()) {
    routes.sort((left, right) => parameterCount(left) - parameterCount(right));
  }
  return (path) => {
    const texts = path.split("/");
    for (const route of bySegmentCount.get(texts.length) ?? []) {
      const parameters = match(route.segments, texts);
      if (parameters !== undefined) return { operation: route.operation, method: route.method, parameters };
    }
    return undefined;
  };
}

function parseSegment(text: string): Segment {
  switch (text) {
    case "{model}":
      return { kind: "parameter", name: "model" };
    case "{version}":
      return { kind: "parameter", name: "version" };
    case "{repository}":
      return { kind: "parameter", name: "repository" };
    default:
      return { kind: "literal", text };
  }
}

function parameterCount(route: Route): number {
  return route.segments.filter((segment) => segment.kind === "parameter").length;
}

function match(segments: readonly Segment[], texts: readonly string[]): RouteParameters | undefined {
  const parameters = { model: "", version: "", repository: "" };
  for (const [index, segment] of segments.entries()) {
    const text = texts[index] ?? "";
    if (segment.kind === "literal") {
      if (segment.text !== text) return undefined;
    } else {
      if (text === "" || (segment.name === "version" && !isDigits(text))) return undefined;
      parameters[segment.name] = text;
    }
  }
  return parameters;
}

function isDigits(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  return true;
}
