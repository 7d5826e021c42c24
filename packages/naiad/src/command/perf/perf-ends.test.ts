import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openFolder, openStand, perf, QUICK } from "../../../test/perf-stand.ts";
import { main } from "../index.ts";

const listeners = {
  SIGINT: process.listenerCount("SIGINT"),
  SIGTERM: process.listenerCount("SIGTERM"),
} as const;

describe("naiad perf", () => {
  it("ends with the server's error, and where there is no server", async () => {
    const failing = await openStand({ failsAt: 3 });
    expect(await perf("-m", "m", "-u", failing.url, "--request-count", "9")).toMatchObject({
      code: 1,
      error: ["naiad perf: no more"],
    });
    await failing.close();
    const { code, error } = await perf("-m", "m", "-u", failing.url);
    expect(code).toBe(1);
    expect(error[0]).toContain(`GET http://${failing.url}/v2/models/m`);
  });

  it("does not take the page of a web site for an inference", async () => {
    const site = await openStand({ inferType: "text/html" });
    const { code, error } = await perf("-m", "m", "-u", site.url, "--request-count", "3");
    expect(code).toBe(1);
    expect(error).toEqual([`naiad perf: http://${site.url} answers with 'text/html', which is no inference`]);
  });

  it("says what is wrong with an address over gRPC", async () => {
    const { code, error } = await perf("-m", "m", "-i", "grpc", "-u", "127.0.0.1:1");
    expect(code).toBe(1);
    expect(error).toEqual(["naiad perf: http://127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1"]);
  });

  it.each(["SIGINT", "SIGTERM"] as const)("reports at %s what was measured until then", async (signal) => {
    const stand = await openStand();
    const folder = await openFolder();
    const csv = join(folder, "cut.csv");
    const out: string[] = [];
    const error: string[] = [];
    const argv = [...QUICK, "-u", stand.url, "--concurrency-range", "1:50", "-f", csv];
    const code = await main(["perf", ...argv], {
      out: (line) => {
        out.push(line);
        if (line === "Request concurrency: 2") process.emit(signal);
      },
      error: (line) => void error.push(line),
    });
    expect(code).toBe(1);
    expect(error).toEqual(["naiad perf: stopped before the end; this is what was measured until then"]);
    expect(out.filter((line) => line.startsWith("Concurrency: "))).toHaveLength(2);
    expect((await readFile(csv, "utf8")).trimEnd().split("\n")).toHaveLength(3);
    expect(process.listenerCount(signal)).toBe(listeners[signal]);
  });

  it("has nothing to report where it is stopped in the first level", async () => {
    const stand = await openStand();
    const argv = ["-m", "m", "-u", stand.url, "-v"];
    const error: string[] = [];
    const code = await main(["perf", ...argv], {
      out: (line) => {
        if (line.startsWith("*** Measurement Settings")) process.emit("SIGINT");
      },
      error: (line) => void error.push(line),
    });
    expect([code, error]).toEqual([1, ["naiad perf: stopped"]]);
  });

  it("has a non-zero exit code where windows do not agree", async () => {
    const stand = await openStand();
    const { code, out } = await perf("-m", "m", "-u", stand.url, "-p", "5", "-s", "0", "-r", "3");
    expect(code).toBe(1);
    expect(out.some((line) => line.startsWith("Failed to obtain stable measurement within 3"))).toBe(true);
  });
});
