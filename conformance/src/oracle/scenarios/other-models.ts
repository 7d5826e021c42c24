import type { OracleRequest } from "../oracle-request.ts";
import { post } from "./ask.ts";
import { simple } from "./simple-request.ts";

export const OTHER_MODELS: readonly OracleRequest[] = [
  post(
    "/v2/models/matrix/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2,3],"data":[[1,2,3],[4,5,6]]}]}',
  ),
  post(
    "/v2/models/matrix/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[3,2],"data":[1,2,3,4,5,6]}]}',
  ),
  post(
    "/v2/models/matrix/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[6],"data":[1,2,3,4,5,6]}]}',
  ),
  post(
    "/v2/models/batched/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2,3],"data":[1,2,3,4,5,6]}]}',
  ),
  post(
    "/v2/models/batched/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2,0],"data":[]}]}',
  ),
  post(
    "/v2/models/batched/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[5,1],"data":[1,2,3,4,5]}]}',
  ),
  post(
    "/v2/models/reshaped/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,2,2],"data":[1,2,3,4]}]}',
  ),
  post(
    "/v2/models/reshaped/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,4],"data":[1,2,3,4]}]}',
  ),
  post(
    "/v2/models/optional/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,2],"data":[1,2]}]}',
  ),
  post(
    "/v2/models/optional/infer",
    '{"inputs":[{"name":"INPUT1","datatype":"INT32","shape":[1,2],"data":[1,2]}]}',
  ),
  post(
    "/v2/models/optional/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,2],"data":[1,2]},{"name":"INPUT1","datatype":"INT32","shape":[1,2],"data":[3,4]}]}',
  ),
  post(
    "/v2/models/decoupled/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1],"data":[1]}]}',
  ),
  ...["1", "2", "3", "9"].map((priority) =>
    post("/v2/models/queued/infer", simple(`"parameters":{"priority":${priority},"timeout":100000},`)),
  ),
  ...["1", "2", "3", "4", "5"].map((count) =>
    post(
      "/v2/models/labelled/infer",
      `{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[2,4],"data":[0.1,0.7,-1,0.2,1,2,3,4]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":${count}}}]}`,
    ),
  ),
  post(
    "/v2/models/labelled/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"FP32","shape":[1,4],"data":[0.1,0.7,-1,0.2]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":2,"binary_data":true}}]}',
  ),
  post(
    "/v2/models/identity_string/infer",
    '{"inputs":[{"name":"INPUT0","datatype":"BYTES","shape":[2],"data":["a","b"]}],"outputs":[{"name":"OUTPUT0","parameters":{"classification":1}}]}',
  ),
];
