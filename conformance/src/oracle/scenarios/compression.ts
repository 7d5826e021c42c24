import { deflateSync, gzipSync } from "node:zlib";
import type { OracleRequest } from "../oracle-request.ts";
import { ask, post } from "./ask.ts";
import { SIMPLE, simple } from "./simple-request.ts";

export const COMPRESSION: readonly OracleRequest[] = [
  post(SIMPLE, new Uint8Array(gzipSync(simple())), [["Content-Encoding", "gzip"]]),
  post(SIMPLE, new Uint8Array(deflateSync(simple())), [["Content-Encoding", "deflate"]]),
  post(SIMPLE, simple(), [["Content-Encoding", "identity"]]),
  post(SIMPLE, simple(), [["Content-Encoding", "br"]]),
  post(SIMPLE, simple(), [["Content-Encoding", "GZIP"]]),
  post(SIMPLE, simple(), [["Content-Encoding", "gzip"]]),
  post(SIMPLE, new Uint8Array(gzipSync(simple())), [["Content-Encoding", "deflate"]]),
  post(SIMPLE, "", [["Content-Encoding", "gzip"]]),
  ...["gzip", "deflate", "gzip, deflate", "deflate, gzip", "br", "identity", "*", "GZIP", "gzip;q=0"].map(
    (encodings) => post(SIMPLE, simple(), [["Accept-Encoding", encodings]]),
  ),
  post(SIMPLE, simple('"parameters":{"binary_data_output":true},'), [["Accept-Encoding", "gzip"]]),
  post(SIMPLE, '{"inputs":[]}', [["Accept-Encoding", "gzip"]]),
  ask("GET", "/v2/models/simple/config", "", [["Accept-Encoding", "gzip"]]),
];
