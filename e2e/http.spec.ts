import { expect, test } from "./fixtures.ts";
import { errorOf, send } from "./requests.ts";

test.describe("the rest of the HTTP API", () => {
  test("generate answers at once and as an event", async ({ blank, start }) => {
    await start(blank, { loadModels: ["identity_bytes", "simple"] });
    const body = JSON.stringify({ INPUT0: "größe", id: "7" });
    const answer = '{"OUTPUT0":"größe","id":"7","model_name":"identity_bytes","model_version":"1"}';
    expect(await send(blank, "POST", "/v2/models/identity_bytes/generate", body)).toMatchObject({
      status: 200,
      body: answer,
    });
    expect(await send(blank, "POST", "/v2/models/identity_bytes/generate_stream", body)).toMatchObject({
      status: 200,
      body: `data: ${answer}\n\n`,
      marked: true,
    });
    const refused = await send(blank, "POST", "/v2/models/simple/generate", JSON.stringify({ INPUT0: [1] }));
    expect(refused.status).toBe(400);
    expect(errorOf(refused)).toBe("The schema can not convert input 'INPUT0' to tensor with proper shape");
  });

  test("settings of traces and log, shared memory", async ({ blank, start }) => {
    await start(blank, { loadModels: ["simple"] });
    const trace = await send(blank, "POST", "/v2/models/simple/trace/setting", '{"trace_rate":"5"}');
    expect(JSON.parse(trace.body)).toMatchObject({ trace_level: ["OFF"], trace_rate: "5" });
    expect((await send(blank, "GET", "/v2/trace/setting")).body).toContain('"trace_rate":"1000"');
    const log = await send(blank, "POST", "/v2/logging", '{"log_verbose_level":1}');
    expect(JSON.parse(log.body)).toMatchObject({ log_info: true, log_verbose_level: 1 });
    expect((await send(blank, "GET", "/v2/systemsharedmemory/status")).body).toBe("[]");
    const register = await send(blank, "POST", "/v2/systemsharedmemory/region/r/register", "{}");
    expect(register.status).toBe(501);
  });

  test("restricted APIs ask for their header, also of health", async ({ blank, start }) => {
    await start(blank, {
      loadModels: ["simple"],
      httpRestrictedApi: "health,model-repository:admin-key=secret",
    });
    for (const [method, target] of [
      ["GET", "/v2/health/ready"],
      ["POST", "/v2/repository/index"],
    ] as const) {
      const refused = await send(blank, method, target);
      expect([refused.status, errorOf(refused)]).toEqual([
        403,
        "This API is restricted, expecting header 'admin-key'",
      ]);
    }
    expect((await send(blank, "GET", "/v2/models/simple")).status).toBe(200);
    const status = await blank.evaluate(async () => {
      const response = await fetch("/v2/repository/index", {
        method: "POST",
        headers: { "Admin-Key": "secret" },
      });
      return response.status;
    });
    expect(status).toBe(200);
  });
});
