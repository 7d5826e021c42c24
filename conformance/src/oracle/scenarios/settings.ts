import type { OracleRequest } from "../oracle-request.ts";
import { get, post } from "./ask.ts";

export const LOGGING: readonly OracleRequest[] = [
  get("/v2/logging"),
  ...[
    '{"log_info":false}',
    '{"log_info":1}',
    '{"log_info":"false"}',
    '{"log_verbose_level":1}',
    '{"log_verbose_level":-1}',
  ],
  ...[
    '{"log_verbose_level":"1"}',
    '{"log_format":"ISO8601"}',
    '{"log_format":"other"}',
    '{"log_format":1}',
    '{"log_file":""}',
  ],
  ...[
    '{"log_file":"x"}',
    '{"nothing":1}',
    "{",
    "",
    "[]",
    '{"log_verbose_level":0,"log_info":true,"log_format":"default"}',
  ],
].map((one) => (typeof one === "string" ? post("/v2/logging", one) : one));

export const TRACE: readonly OracleRequest[] = [
  get("/v2/trace/setting"),
  get("/v2/models/simple/trace/setting"),
  get("/v2/models/nobody/trace/setting"),
  ...[
    '{"trace_level":["TIMESTAMPS"]}',
    '{"trace_level":["OFF"]}',
    '{"trace_level":["OTHER"]}',
    '{"trace_level":"TIMESTAMPS"}',
  ],
  ...[
    '{"trace_rate":"5"}',
    '{"trace_rate":5}',
    '{"trace_rate":"-1"}',
    '{"trace_rate":"x"}',
    '{"trace_count":"-1"}',
    '{"trace_count":"10"}',
  ],
  ...[
    '{"log_frequency":"7"}',
    '{"trace_file":"x"}',
    '{"trace_mode":"triton"}',
    '{"nothing":"1"}',
    "{",
    "[]",
    "",
    '{"trace_rate":null,"trace_count":null}',
  ],
].map((one) => (typeof one === "string" ? post("/v2/trace/setting", one) : one));
