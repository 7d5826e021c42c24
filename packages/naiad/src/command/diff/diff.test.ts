import type { Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { main } from "../index.ts";

const servers = new Set<Server>();
afterEach(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  servers.clear();
});

interface Model {
  readonly maxBatchSize?: number;
  readonly datatype?: string;
  readonly value?: number | string;
  readonly refusal?: string;
  /** What one request counts as. */
  readonly counts?: number;
  readonly inferError?: string;
}

/** A server of one model `m`; gives its address. */
async function serve(model: Model = {}): Promise<string> {
  const {
    maxBatchSize = 0,
    datatype = "FP32",
    value = 1.5,
    refusal = "no such thing",
    counts = 1,
    inferError,
  } = model;
  let count = 0;
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const url = request.url ?? "";
      const body = Buffer.concat(pieces).toString("latin1");
      response.setHeader("content-type", "application/json");
      const answer = (content: object): void => void response.end(JSON.stringify(content));
      if (url.endsWith("/infer")) {
        if (inferError !== undefined || !body.includes('"name":"x"') || body.includes("FP12")) {
          response.statusCode = 400;
          answer({ error: inferError ?? refusal });
          return;
        }
        count += counts;
        answer({
          model_name: "m",
          model_version: "1",
          outputs: [{ name: "y", datatype, shape: [2], data: [value, value] }],
        });
      } else if (url.includes("no_such_model") || url.includes("987654321")) {
        response.statusCode = 404;
        answer({ error: refusal });
      } else if (url.endsWith("/config")) answer({ name: "m", max_batch_size: maxBatchSize });
      else if (url.endsWith("/stats")) answer({ model_stats: [statistics(count)] });
      else if (url.endsWith("/index")) answer([{ name: "m", version: "1", state: "READY" }]);
      else
        answer({
          name: "m",
          versions: ["1"],
          platform: "p",
          inputs: [{ name: "x", datatype: "INT32", shape: [2, -1] }],
          outputs: [],
        });
    });
  });
  servers.add(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function statistics(count: number): object {
  const each = { count, ns: count };
  const names = [
    "success",
    "fail",
    "queue",
    "compute_input",
    "compute_infer",
    "compute_output",
    "cache_hit",
    "cache_miss",
  ];
  const inference_stats = Object.fromEntries(
    names.map((name) => [name, name === "fail" ? { count: 0, ns: 0 } : each]),
  );
  const numbers = { last_inference: 0, inference_count: count, execution_count: count };
  return {
    name: "m",
    version: "1",
    ...numbers,
    inference_stats,
    response_stats: {},
    batch_stats: [],
    memory_usage: [],
  };
}

async function diff(one: string, other: string, ...argv: readonly string[]) {
  const out: string[] = [];
  const error: string[] = [];
  const code = await main(["diff", "-u", one, "--against", other, ...argv], {
    out: (line) => void out.push(line),
    error: (line) => void error.push(line),
  });
  return { code, out, error };
}

describe("naiad diff", () => {
  it("finds nothing between servers that say the same", async () => {
    expect(await diff(await serve(), await serve())).toEqual({
      code: 0,
      out: ["m: no difference"],
      error: [],
    });
  });

  it("lets floats differ by the tolerance, and nothing else", async () => {
    const [one, other] = [await serve({ value: 1.5 }), await serve({ value: 1.50001 })];
    expect((await diff(one, other)).code).toBe(0);
    const strict = await diff(one, other, "--tolerance", "0", "--request-count", "1");
    expect(strict.out.slice(0, 3)).toEqual([
      "m: 1 difference",
      "  inference 1.y[0], and 1 more",
      "    - 1.5",
    ]);
    expect(strict.code).toBe(1);
    const integers = await diff(
      await serve({ datatype: "INT32", value: 100000 }),
      await serve({ datatype: "INT32", value: 100001 }),
      "--request-count",
      "1",
    );
    expect(integers.out[0]).toBe("m: 1 difference");
  });

  it("tells what differs in configuration, outputs, statistics and refusals", async () => {
    const { code, out } = await diff(
      await serve({ datatype: "FP64" }),
      await serve({ counts: 2, refusal: "other words", maxBatchSize: 0, datatype: "FP32" }),
      "--request-count",
      "2",
    );
    expect(code).toBe(1);
    expect(out.filter((line) => /^ {2}\S/.test(line))).toEqual([
      "  inference 1.y",
      "  inference 2.y",
      "  statistics.inference_count",
      "  statistics.success",
      "  refusal of an unknown model.error",
      "  refusal of an unknown version.error",
      "  refusal of no JSON.error",
      "  refusal of an empty object.error",
      "  refusal of no inputs.error",
      "  refusal of an unknown input.error",
      "  refusal of an unknown datatype.error",
    ]);
    expect(out).toContain("    - FP64[2]");
    expect(out).toContain("    + FP32[2]");
  });

  it("compares the errors of inferences, and leaves out what is to be ignored", async () => {
    const [one, other] = [await serve({ inferError: "broken" }), await serve()];
    const { out } = await diff(
      one,
      other,
      "--ignore",
      "refusal",
      "--ignore",
      "statistics",
      "--request-count",
      "1",
    );
    expect(out).toEqual(["m: 1 difference", "  inference 1", "    - broken", "    + outputs"]);
  });

  it("prints JSON", async () => {
    const { code, out } = await diff(
      await serve(),
      await serve({ refusal: "x" }),
      "--json",
      "-m",
      "m",
      "--ignore",
      "inference",
    );
    expect(code).toBe(1);
    expect(JSON.parse(out.join("\n"))).toMatchObject({
      models: {
        m: [
          { path: "refusal of an unknown model.error", one: '"no such thing"', other: '"x"' },
          ...Array.from({ length: 6 }, () => ({})),
        ],
      },
    });
  });

  it("tells a wrong command line and a server that is not there", async () => {
    const there = await serve();
    expect((await diff(there, "127.0.0.1:1")).code).toBe(1);
    for (const argv of [
      ["x"],
      ["--tolerance", "x"],
      ["--request-count", "0"],
      ["--input-data", "/none"],
      ["--frob"],
    ]) {
      expect((await diff(there, there, ...argv)).code).toBe(2);
    }
    const without: string[] = [];
    expect(await main(["diff"], { out: () => undefined, error: (line) => void without.push(line) })).toBe(2);
    expect(without[0]).toContain("--against URL");
  });
});
