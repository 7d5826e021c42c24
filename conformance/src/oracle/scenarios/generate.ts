import type { OracleRequest } from "../oracle-request.ts";
import { get, post } from "./ask.ts";

export const GENERATE: readonly OracleRequest[] = ["generate", "generate_stream"].flatMap((kind) => [
  get(`/v2/models/identity_string/${kind}`),
  ...[
    '{"INPUT0":"a"}',
    '{"INPUT0":["a","b"]}',
    '{"INPUT0":1}',
    '{"INPUT0":null}',
    "{}",
    "",
    "[]",
    "{",
    '{"INPUT0":"a","other":1}',
    '{"id":"7","INPUT0":"a"}',
    '{"INPUT0":{"x":1}}',
    '{"INPUT0":[["a"]]}',
    '{"id":1,"INPUT0":"a"}',
  ].map((body) => post(`/v2/models/identity_string/${kind}`, body)),
  ...['{"INPUT0":1.5}', '{"INPUT0":[1,2,3]}', '{"INPUT0":true}'].map((body) =>
    post(`/v2/models/identity_fp32/${kind}`, body),
  ),
  post(`/v2/models/nobody/${kind}`, '{"INPUT0":"a"}'),
  post(`/v2/models/identity_string/versions/1/${kind}`, '{"INPUT0":"a"}'),
  post(`/v2/models/identity_string/versions/2/${kind}`, '{"INPUT0":"a"}'),
]);
