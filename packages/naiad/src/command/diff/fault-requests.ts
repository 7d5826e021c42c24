/** A request that no server accepts: how it is refused is compared. */
export interface FaultRequest {
  readonly what: string;
  readonly method: "GET" | "POST";
  /** Below `/v2`. */
  readonly path: string;
  readonly body?: string;
}

/** Wrong requests for a model, and for none. */
export function faultRequests(modelName: string): readonly FaultRequest[] {
  const model = `models/${encodeURIComponent(modelName)}`;
  const infer = (what: string, body: string): FaultRequest => ({
    what,
    method: "POST",
    path: `${model}/infer`,
    body,
  });
  const input = '{"name":"no_such_input","datatype":"FP32","shape":[1],"data":[1]}';
  return [
    { what: "an unknown model", method: "GET", path: "models/no_such_model" },
    { what: "an unknown version", method: "GET", path: `${model}/versions/987654321` },
    infer("no JSON", "{"),
    infer("an empty object", "{}"),
    infer("no inputs", '{"inputs":[]}'),
    infer("an unknown input", `{"inputs":[${input}]}`),
    infer("an unknown datatype", '{"inputs":[{"name":"x","datatype":"FP12","shape":[1],"data":[1]}]}'),
  ];
}
