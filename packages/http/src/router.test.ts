import { describe, expect, it } from "vitest";
import { createRouter } from "./router.ts";

const findRoute = createRouter();

function summary(path: string): string | undefined {
  const match = findRoute(path);
  if (match === undefined) return undefined;
  const { model, version, repository, region } = match.parameters;
  return [match.name, match.endpoint.methods.join("|"), model, version, repository, region]
    .join(" ")
    .trimEnd();
}

describe("createRouter", () => {
  it.each([
    ["/v2", "serverMetadata GET"],
    ["/v2/health/live", "serverLive GET"],
    ["/v2/health/ready", "serverReady GET"],
    ["/v2/models/stats", "modelStatistics GET"],
    ["/v2/models/m", "modelMetadata GET m"],
    ["/v2/models/m/versions/12", "modelMetadata GET m 12"],
    ["/v2/models/m/ready", "modelReady GET m"],
    ["/v2/models/m/versions/1/ready", "modelReady GET m 1"],
    ["/v2/models/m/config", "modelConfig GET m"],
    ["/v2/models/m/versions/1/config", "modelConfig GET m 1"],
    ["/v2/models/m/stats", "modelStatistics GET m"],
    ["/v2/models/m/versions/1/stats", "modelStatistics GET m 1"],
    ["/v2/models/m/infer", "modelInfer POST m"],
    ["/v2/models/m/versions/0/infer", "modelInfer POST m 0"],
    ["/v2/models/m/generate", "generate POST m"],
    ["/v2/models/m/versions/3/generate_stream", "generateStream POST m 3"],
    // Only the metadata of a model with this name is out of reach.
    ["/v2/models/stats/infer", "modelInfer POST stats"],
    ["/v2/models/stats/stats", "modelStatistics GET stats"],
    ["/v2/models/stats/versions/1", "modelMetadata GET stats 1"],
    ["/v2/models/a%2Fb/infer", "modelInfer POST a%2Fb"],
    ["/v2/models/infer/infer", "modelInfer POST infer"],
    ["/v2/repository/index", "repositoryIndex POST"],
    ["/v2/repository/r/index", "repositoryIndex POST   r"],
    ["/v2/repository/models/m/load", "repositoryModelLoad POST m"],
    ["/v2/repository/models/models/unload", "repositoryModelUnload POST models"],
    ["/v2/repository/r/models/m/load", "repositoryModelLoad POST m  r"],
    ["/v2/repository/models/models/m/unload", "repositoryModelUnload POST m  models"],
    ["/v2/trace/setting", "traceSetting GET|POST"],
    ["/v2/models/m/trace/setting", "traceSetting GET|POST m"],
    ["/v2/logging", "logSettings GET|POST"],
    ["/metrics", "serverMetrics GET"],
    ["/metrics/", "serverMetrics GET"],
    ["/v2/systemsharedmemory/status", "systemSharedMemoryStatus GET"],
    ["/v2/systemsharedmemory/region/r/status", "systemSharedMemoryStatus GET    r"],
    ["/v2/systemsharedmemory/region/r/register", "systemSharedMemoryRegister POST    r"],
    ["/v2/systemsharedmemory/unregister", "systemSharedMemoryUnregister POST"],
    ["/v2/cudasharedmemory/status", "cudaSharedMemoryStatus GET"],
    ["/v2/cudasharedmemory/region/r/register", "cudaSharedMemoryRegister POST    r"],
    ["/v2/cudasharedmemory/region/r/unregister", "cudaSharedMemoryUnregister POST    r"],
  ])("%s is %s", (path, expected) => {
    expect(summary(path)).toBe(expected);
  });

  it.each([
    "",
    "/",
    "v2",
    "/v1",
    "/v2/",
    "/v2/health",
    "/v2/health/live/",
    "/V2/health/live",
    "/v2/models",
    "/v2/models/",
    "/v2/models//infer",
    "/v2/models/m/",
    "/v2/models/m/infer/",
    "/v2/models/m/versions",
    "/v2/models/m/versions/",
    "/v2/models/m/versions/x",
    "/v2/models/m/versions/-1",
    "/v2/models/m/versions/1a/infer",
    "/v2/models/m/versions//infer",
    "/v2/models/m/predict",
    "/v2/models/m/versions/1/trace/setting",
    "/v2/trace/settings",
    "/v2/logging/",
    "/v2/metrics",
    "/metrics/m",
    "/v2/systemsharedmemory",
    "/v2/systemsharedmemory/region//status",
    "/v2/systemsharedmemory/region/status/",
    "/v2/repository",
    "/v2/repository//index",
    "/v2/repository/models//load",
    "/v2/repository/models/m",
    "//v2",
  ])("%j is nothing", (path) => {
    expect(findRoute(path)).toBeUndefined();
  });
});
