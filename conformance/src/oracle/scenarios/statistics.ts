import type { OracleRequest } from "../oracle-request.ts";
import { get, post } from "./ask.ts";
import { SIMPLE, simple, tensor } from "./simple-request.ts";

export const STATISTICS: readonly OracleRequest[] = [
  get("/v2/models/simple/stats"),
  post(SIMPLE, simple()),
  post(SIMPLE, tensor("[2,16]", `[${Array.from({ length: 32 }, () => 1).join()}]`)),
  post(SIMPLE, '{"inputs":[]}'),
  get("/v2/models/simple/stats"),
  get("/v2/models/simple/versions/1/stats"),
  get("/v2/models/simple/versions/2/stats"),
  get("/v2/models/stats"),
];
