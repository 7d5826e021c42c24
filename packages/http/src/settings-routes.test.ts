import { DEFAULT_TRACE_CONFIG } from "@naiad/protocol";
import { echoModel } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { createHttpBench } from "../test/http-bench.ts";

const GLOBAL = "/v2/trace/setting";
const OF_MODEL = "/v2/models/m/trace/setting";
const TRACE =
  '{"trace_level":["OFF"],"trace_rate":"1000","trace_count":"-1","log_frequency":"0","trace_file":"","trace_mode":"triton"}';
const LOG =
  '{"log_file":"","log_info":true,"log_warning":true,"log_error":true,"log_verbose_level":0,"log_format":"default"}';

/** Traces are to go into a file, which has no name. */
const options = { traceConfig: { ...DEFAULT_TRACE_CONFIG, destination: "file" } } as const;

function startBench() {
  return createHttpBench({ models: { m: echoModel(), other: echoModel() }, load: ["m"], options });
}

describe("trace settings", () => {
  it("are what a server without a trace file begins with", async () => {
    const { get } = await startBench();
    for (const target of [GLOBAL, OF_MODEL]) {
      const answer = await get(target);
      expect([answer.status, answer.text]).toEqual([200, TRACE]);
      expect(answer.header("content-type")).toBe("application/json");
    }
  });

  it("of a model go before the global ones, until they are given up", async () => {
    const { get, post } = await startBench();
    const rates = async () => {
      const [ofAll, ofModel] = [await get(GLOBAL), await get(OF_MODEL)];
      return [ofAll.json, ofModel.json].map((json) => (json as Record<string, string>)["trace_rate"]);
    };
    expect((await post(GLOBAL, { trace_rate: "5" })).text).toBe(TRACE.replace("1000", "5"));
    expect(await rates()).toEqual(["5", "5"]);
    expect((await post(OF_MODEL, { trace_rate: "7", log_frequency: "3" })).json).toMatchObject({
      trace_rate: "7",
      log_frequency: "3",
    });
    await post(GLOBAL, { trace_rate: "6", trace_count: "9" });
    expect(await rates()).toEqual(["6", "7"]);
    expect((await get(OF_MODEL)).json).toMatchObject({ trace_count: "9", log_frequency: "3" });
    await post(OF_MODEL, { trace_rate: null });
    expect(await rates()).toEqual(["6", "6"]);
    await post(GLOBAL, { trace_rate: null });
    expect(await rates()).toEqual(["1000", "1000"]);
    expect((await get(OF_MODEL)).json).toMatchObject({ log_frequency: "3" });
  });

  it.each([
    [{ trace_level: ["OFF"] }, TRACE],
    [{ trace_level: ["UNKNOWN"] }, TRACE],
    [{ trace_level: [], unknown: 1 }, TRACE],
    [{ trace_level: null, trace_count: " +12x" }, TRACE.replace('"-1"', '"12"')],
    [{ trace_rate: "-1" }, TRACE.replace("1000", "4294967295")],
    ["[]", TRACE],
    ["5", TRACE],
  ])("%j is taken", async (update, text) => {
    const { post } = await startBench();
    const answer = await post(GLOBAL, update);
    expect([answer.status, answer.text]).toEqual([200, text]);
  });

  const OUT = "value is out of range [";
  it.each([
    [{ trace_file: "x" }, 501, "trace file location can not be updated through network protocol"],
    [{ trace_file: null }, 501, "trace file location can not be updated through network protocol"],
    [
      { trace_file: "x", trace_rate: 1 },
      501,
      "trace file location can not be updated through network protocol",
    ],
    [{ trace_level: ["OFF", "TENSORS"] }, 400, "Expect only one trace level 'OFF' is specified"],
    [{ trace_level: "OFF" }, 500, "attempt to access JSON non-array as array"],
    [{ trace_level: [1] }, 500, "attempt to access JSON non-string as string"],
    [
      { trace_level: ["TIMESTAMPS"] },
      400,
      "Attempting to set invalid trace setting :trace file name is not given",
    ],
    [
      { trace_level: ["TENSORS"], trace_rate: "0" },
      400,
      "Attempting to set invalid trace setting :sample rate must be non-zero",
    ],
    [{ trace_rate: 5 }, 500, "attempt to access JSON non-string as string"],
    [{ trace_rate: "fast" }, 400, "Unable to parse 'trace_rate', got: fast"],
    [
      { trace_rate: "2147483648" },
      400,
      `Unable to parse 'trace_rate', ${OUT} 0, 4294967295 ], got: 2147483648`,
    ],
    [{ trace_count: "x" }, 400, "Unable to parse 'trace_count', got: x"],
    [{ trace_count: "-2" }, 400, "Unable to parse 'trace_count'. Expecting value >= -1, got:-2"],
    [
      { trace_count: "9999999999" },
      400,
      `Unable to parse 'trace_count', ${OUT} -1, 2147483647 ], got: 9999999999`,
    ],
    [{ log_frequency: "" }, 400, "Unable to parse 'log_frequency', got: "],
    [
      { log_frequency: "-9999999999" },
      400,
      `Unable to parse 'log_frequency', ${OUT} 0, 4294967295 ], got: -9999999999`,
    ],
    ["", 500, "failed to parse the request JSON buffer: The document is empty. at 0"],
    ["{", 500, "failed to parse the request JSON buffer: Missing a name for object member. at 1"],
  ])("%j is refused", async (update, status, error) => {
    const { get, post } = await startBench();
    for (const target of [GLOBAL, OF_MODEL]) {
      const answer = await post(target, update);
      expect([answer.status, answer.error]).toEqual([status, error]);
      expect((await get(target)).text).toBe(TRACE);
    }
  });

  it("of an unknown model are not found, whatever the body says", async () => {
    const { get, post } = await startBench();
    const error = "Request for unknown model: 'nobody' is not found";
    for (const answer of [
      await get("/v2/models/nobody/trace/setting"),
      await post("/v2/models/nobody/trace/setting", "{"),
    ]) {
      expect([answer.status, answer.error]).toEqual([404, error]);
    }
  });

  it("of a model that is not ready any more", async () => {
    const { get, bench } = await startBench();
    await bench.unload("m");
    const answer = await get(OF_MODEL);
    expect([answer.status, answer.error]).toEqual([400, "Request for unknown model : m"]);
  });
});

describe("log settings", () => {
  it("begin as the options say", async () => {
    const { get } = await startBench();
    const answer = await get("/v2/logging");
    expect([answer.status, answer.text]).toEqual([200, LOG]);
  });

  it.each([
    [{ log_info: false, log_error: null }, LOG.replace('info":true', 'info":false')],
    [{ log_verbose_level: 3 }, LOG.replace('level":0', 'level":3')],
    [{ log_format: "ISO8601", log_file: null }, LOG.replace("default", "ISO8601")],
    [{ unknown: 1 }, LOG],
  ])("%j is taken", async (update, text) => {
    const { get, post } = await startBench();
    const answer = await post("/v2/logging", update);
    expect([answer.status, answer.text]).toEqual([200, text]);
    expect((await get("/v2/logging")).text).toBe(text);
  });

  it.each([
    [{ log_file: "a.log" }, 501, "log file location can not be updated through network protocol"],
    [{ log_format: "xml" }, 503, "invalid argument for --log_format, got: xml"],
    [{ log_format: 1 }, 500, "attempt to access JSON non-string as string"],
    [{ log_info: "yes" }, 500, "attempt to access JSON non-boolean as boolean"],
    [{ log_warning: 1 }, 500, "attempt to access JSON non-boolean as boolean"],
    [{ log_verbose_level: -1 }, 500, "attempt to access JSON non-unsigned-integer as unsigned-integer"],
    [{ log_verbose_level: true }, 500, "attempt to access JSON non-unsigned-integer as unsigned-integer"],
    ["", 500, "failed to parse the request JSON buffer: The document is empty. at 0"],
  ])("%j is refused", async (update, status, error) => {
    const { get, post } = await startBench();
    const answer = await post("/v2/logging", update);
    expect([answer.status, answer.error]).toEqual([status, error]);
    expect((await get("/v2/logging")).text).toBe(LOG);
  });

  it("decide which lines there are", async () => {
    const { post, bench } = await startBench();
    const count = () => bench.logger.lines.length;
    await post("/v2/logging", { log_info: false, log_warning: false, log_error: false });
    const before = count();
    await expect(bench.load("nobody")).rejects.toThrow();
    await bench.load("other");
    expect(count()).toBe(before);
    await post("/v2/logging", { log_error: true });
    await expect(bench.load("nobody")).rejects.toThrow();
    expect(count()).toBeGreaterThan(before);
  });
});

describe("shared memory", () => {
  it.each(["system", "cuda"])("knows no %s regions", async (kind) => {
    const { get } = await startBench();
    const all = await get(`/v2/${kind}sharedmemory/status`);
    expect([all.status, all.text]).toEqual([200, "[]"]);
    const one = await get(`/v2/${kind}sharedmemory/region/r/status`);
    expect([one.status, one.error]).toEqual([404, `Unable to find ${kind} shared memory region: 'r'`]);
  });

  it.each(["register", "unregister", "region/r/register", "region/r/unregister"])(
    "refuses to %s, without a look at the body",
    async (action) => {
      const { get, post } = await startBench();
      for (const kind of ["system", "cuda"]) {
        const answer = await post(`/v2/${kind}sharedmemory/${action}`, "{");
        expect([answer.status, answer.error]).toEqual([
          501,
          "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
        ]);
        expect((await get(`/v2/${kind}sharedmemory/${action}`)).status).toBe(405);
      }
    },
  );

  it("cannot be named by a request for inference", async () => {
    const { post } = await startBench();
    const parameters = { shared_memory_region: "r", shared_memory_byte_size: 4 };
    const answer = await post("/v2/models/m/infer", {
      inputs: [{ name: "x", shape: [1, 1], datatype: "INT32", parameters }],
    });
    expect([answer.status, answer.error]).toEqual([404, "Unable to find shared memory region: 'r'"]);
  });
});
