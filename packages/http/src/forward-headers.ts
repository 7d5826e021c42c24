import {
  type HeaderList,
  type InferenceRequest,
  parseHeaderPattern,
  reservedParameter,
} from "@naiad/protocol";

/** Adds the headers that are forwarded to a request's parameters. Throws Triton's error for a reserved name. */
export type ForwardHeaders = (request: InferenceRequest, headers: HeaderList) => InferenceRequest;

export function createHeaderForwarding(pattern: string): ForwardHeaders {
  if (pattern === "") return (request) => request;
  const expression = parseHeaderPattern(pattern);
  return (request, headers) => {
    const forwarded = headers.filter(([name]) => expression.test(name));
    if (forwarded.length === 0) return request;
    if (forwarded.some(([name]) => name.startsWith("triton_"))) throw reservedParameter();
    return { ...request, parameters: { ...request.parameters, ...Object.fromEntries(forwarded) } };
  };
}
