import type { OracleRequest } from "../oracle-request.ts";
import { ask, get, post } from "./ask.ts";
import { SIMPLE, simple } from "./simple-request.ts";

export const PATHS: readonly OracleRequest[] = [
  ...[
    "/v2",
    "/v2/",
    "/v2?x=1",
    "/V2",
    "/",
    "/v2/health",
    "/v2/health/live",
    "/v2/health/ready",
    "/v2/health/live/",
  ].map(get),
  ...["/v2/models", "/v2/models/", "/v2/models/simple", "/v2/models/simple/", "/v2/models/simple/ready"].map(
    get,
  ),
  ...[
    "/v2/models/nobody",
    "/v2/models/nobody/ready",
    "/v2/models/nobody/config",
    "/v2/models/nobody/stats",
  ].map(get),
  ...["/v2/models/simple/versions", "/v2/models/simple/versions/", "/v2/models/simple/nothing"].map(get),
  ...["1", "2", "0", "01", "-1", "abc", "1x", "1.5", "99999999999999999999", "9223372036854775807"].flatMap(
    (version) => [
      get(`/v2/models/simple/versions/${version}`),
      get(`/v2/models/simple/versions/${version}/ready`),
    ],
  ),
  ...["1", "3", "2"].flatMap((version) => [
    get(`/v2/models/versions/versions/${version}`),
    get(`/v2/models/versions/versions/${version}/ready`),
    get(`/v2/models/versions/versions/${version}/config`),
  ]),
  get("/v2/models/versions"),
  get("/v2/models/versions/ready"),
  get("/v2/models/versions/config"),
  ...[
    "simple",
    "matrix",
    "reshaped",
    "labelled",
    "optional",
    "queued",
    "decoupled",
    "identity_string",
    "batched",
  ].flatMap((model) => [get(`/v2/models/${model}`), get(`/v2/models/${model}/config`)]),
  ...["POST", "PUT", "DELETE", "PATCH", "OPTIONS"].flatMap((method) => [
    ask(method, "/v2"),
    ask(method, "/v2/health/ready"),
    ask(method, "/v2/models/simple"),
    ask(method, "/v2/models/simple/config"),
  ]),
  get(SIMPLE),
  ask("PUT", SIMPLE, simple()),
  get("/v2/repository/index"),
  get("/v2/repository/models/simple/load"),
  post("/v2/models/simple%20/infer", simple()),
  post("/v2/models//infer", simple()),
  post("/v2//models/simple/infer", simple()),
  post("/v2/models/simple/infer/", simple()),
  post("/v2/models/simple/infer?a=b", simple()),
  post("/v2/models/simple/versions/1/infer", simple()),
  post("/v2/models/simple/versions/2/infer", simple()),
  post("/v2/models/simple/versions/x/infer", simple()),
  post("/v2/models/nobody/infer", simple()),
  get("/v2/models/stats"),
  get("/metrics"),
];
