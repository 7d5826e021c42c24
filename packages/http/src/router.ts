import { type Endpoint, HTTP_ONLY, type HttpOnlyName, OPERATIONS, type OperationName } from "@naiad/protocol";

export type RouteName = OperationName | HttpOnlyName;

/** What a path says; `""` for what it does not say. Names are as they stood in the path, the version is digits. */
export interface RouteParameters {
  readonly model: string;
  readonly version: string;
  readonly repository: string;
  readonly region: string;
}

export interface RouteMatch {
  readonly name: RouteName;
  readonly endpoint: Endpoint;
  readonly parameters: RouteParameters;
}

export type Router = (path: string) => RouteMatch | undefined;

interface Route {
  readonly name: RouteName;
  readonly endpoint: Endpoint;
  readonly segments: readonly Segment[];
}

type Segment =
  | { readonly kind: "literal"; readonly text: string }
  | { readonly kind: "parameter"; readonly name: keyof RouteParameters };

/**
 * Compiles the tables of endpoints. A raw path matches as a whole or not at all: no percent-decoding, no trailing slash,
 * versions of digits only. A literal goes before a parameter, so a model named `stats` has no metadata endpoint.
 */
export function createRouter(): Router {
  const bySegmentCount = new Map<number, Route[]>();
  for (const [name, endpoint] of Object.entries({ ...OPERATIONS, ...HTTP_ONLY })) {
    for (const path of endpoint.paths) {
      const segments = path.split("/").map(parseSegment);
      const routes = bySegmentCount.get(segments.length) ?? [];
      // The keys of the tables are the names.
      routes.push({ name: name as RouteName, endpoint, segments });
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
      if (parameters !== undefined) return { name: route.name, endpoint: route.endpoint, parameters };
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
    case "{region}":
      return { kind: "parameter", name: "region" };
    default:
      return { kind: "literal", text };
  }
}

function parameterCount(route: Route): number {
  return route.segments.filter((segment) => segment.kind === "parameter").length;
}

function match(segments: readonly Segment[], texts: readonly string[]): RouteParameters | undefined {
  const parameters = { model: "", version: "", repository: "", region: "" };
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
