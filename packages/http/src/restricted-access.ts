import {
  type Endpoint,
  type ExchangeRequest,
  headerValue,
  type RestrictedApi,
  type RestrictedCategory,
} from "@naiad/protocol";

/** Gives the text of the refusal where an endpoint wants a header that the request does not have. */
export type RestrictedAccess = (
  category: Endpoint["category"],
  request: ExchangeRequest,
) => string | undefined;

export function createRestrictedAccess(apis: readonly RestrictedApi[]): RestrictedAccess {
  const byCategory = new Map<RestrictedCategory, RestrictedApi>();
  for (const api of apis) for (const category of api.categories) byCategory.set(category, api);
  return (category, { headers }) => {
    const api = category === undefined ? undefined : byCategory.get(category);
    if (api === undefined || headerValue(headers, api.header.toLowerCase()) === api.value) return undefined;
    return `This API is restricted, expecting header '${api.header}'`;
  };
}
