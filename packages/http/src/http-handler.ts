import {
  type ExchangeHandler,
  type ExchangeRequest,
  type ExchangeResponse,
  type HeaderList,
  InferenceError,
} from "@naiad/protocol";
import { answerPreflight, corsHeaders, foreignPage } from "./cors.ts";
import { createHeaderForwarding } from "./forward-headers.ts";
import { GENERATE_ROUTES } from "./generate-route.ts";
import type { HttpOptions } from "./http-options.ts";
import { inferRoute } from "./infer-route.ts";
import { JSON_ROUTES } from "./json-routes.ts";
import { readModelName } from "./model-name.ts";
import { errorResponse, errorText } from "./responses.ts";
import { createRestrictedAccess } from "./restricted-access.ts";
import type { Route } from "./route.ts";
import { createRouter, type RouteName } from "./router.ts";

const ROUTES: { readonly [Name in RouteName]: Route } = {
  ...JSON_ROUTES,
  ...GENERATE_ROUTES,
  modelInfer: inferRoute,
};

/**
 * Triton's HTTP API over the operations. The handler never rejects: whatever fails becomes a response with Triton's
 * status and text. It keeps views on the request's body while the request runs; response bodies are the receiver's.
 */
export function createHttpHandler(options: HttpOptions): ExchangeHandler {
  const { marker, cors } = options;
  const findRoute = createRouter();
  const refusal = createRestrictedAccess(options.restrictedApis ?? []);
  const forwardHeaders = createHeaderForwarding(options.headerForwardPattern ?? "");

  async function answer(request: ExchangeRequest): Promise<ExchangeResponse> {
    const match = findRoute(pathOf(request.rawTarget));
    if (match === undefined) return errorText(404, "Not Found");
    const preflight = cors && answerPreflight(request, cors);
    if (preflight !== undefined) return preflight;
    const foreign = cors && foreignPage(request, cors);
    if (foreign !== undefined) return errorText(403, foreign);
    const { methods, category } = match.endpoint;
    const refused = refusal(category, request);
    if (refused !== undefined) return errorText(403, refused);
    if (!methods.some((method) => method === request.method)) return errorText(405, "Method Not Allowed");
    try {
      checkChunks(request);
      const { model, version, repository, region } = match.parameters;
      return await ROUTES[match.name]({
        options,
        request,
        forwardHeaders,
        repository,
        region,
        reference: { modelName: readModelName(model), modelVersion: version },
      });
    } catch (thrown) {
      return errorResponse(thrown);
    }
  }

  return async (request) => {
    const response = await answer(request);
    const more: HeaderList = [
      ...(cors === undefined ? [] : corsHeaders(request, cors)),
      ...(marker === undefined ? [] : [marker]),
    ];
    return more.length === 0 ? response : { ...response, headers: [...response.headers, ...more] };
  };
}

/** The query has no meaning for any route. */
function pathOf(rawTarget: string): string {
  const query = rawTarget.indexOf("?");
  return query === -1 ? rawTarget : rawTarget.slice(0, query);
}

const MAX_CHUNKS = 65_536;

function checkChunks({ chunkCount = 0 }: ExchangeRequest): void {
  if (chunkCount <= MAX_CHUNKS) return;
  throw new InferenceError(
    "INVALID_ARG",
    `Chunked request body exceeds maximum of ${MAX_CHUNKS} non-empty chunks. Send fewer or larger HTTP chunks.`,
  );
}
