import type { OracleRequest } from "../oracle-request.ts";
import { get, post } from "./ask.ts";

export const SHARED_MEMORY: readonly OracleRequest[] = ["system", "cuda"].flatMap((kind) => [
  get(`/v2/${kind}sharedmemory/status`),
  get(`/v2/${kind}sharedmemory/region/r/status`),
  post(`/v2/${kind}sharedmemory/region/r/register`, "{}"),
  post(`/v2/${kind}sharedmemory/region/r/register`, "{"),
  post(`/v2/${kind}sharedmemory/region/r/register`, '{"key":"/none","offset":0,"byte_size":64}'),
  post(`/v2/${kind}sharedmemory/unregister`),
  post(`/v2/${kind}sharedmemory/region/r/unregister`),
]);
