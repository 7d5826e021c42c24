import type { ExchangeHandler, ExchangeRequest, ExchangeResponse, OperationName } from "@naiad/protocol";
import type { HttpOptions } from "./http-options.ts";
import { inferRoute } from "./infer-route.ts";
import { JSON_ROUTES } from "./json-routes.ts";
import { readModelName } from "./model-name.ts";
import { errorResponse, errorText } from "./responses.ts";
import type { Route } from "./route.ts";
import { createRouter } from "./router.ts";

const ROUTES: { readonly [Name in OperationName]: Route } = { ...JSON_ROUTES, modelInfer: inferRoute };

/**
 * Triton's HTTP API over the operations. The handler never rejects: whatever fails becomes a response with Triton's
 * status and text. It keeps views on the request's body while the request runs; response bodies are the receiver's.
 */
export function createHttpHandler(options: HttpOptions): ExchangeHandler {
  const findRoute = createRouter();
  const { marker } = options;

  async function answer(request: ExchangeRequest): Promise<ExchangeResponse> {
    const match = findRoute(pathOf(request.rawTarget));
    if (match === undefined) return errorText(404, "Not Found");
    if (match.method !== request.method) return errorText(405, "Method Not Allowed");
    try {
      const { model, version, repository } = match.parameters;
      return await ROUTES[match.operation]({
        options,
        request,
        repository,
        reference: { modelName: readModelName(model), modelVersion: version },
      });
    } catch (thrown) {
      return errorResponse(thrown);
    }
  }

  return async (request) => {
    const response = await answer(request);
    return marker === undefined ? response : { ...response, headers: [...response.headers, marker] };
  };
}

/** The query has no meaning for any route. */
function pathOf(rawTarget: string): string {
  const query = rawTarget.indexOf("?");
  return query === -1 ? rawTarget : rawTarget.slice(0, query);
}
