import { describe, expect, it } from "vitest";
import { perfRows, rowProblem } from "./perf-rows.ts";

const CSV = `Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency,Avg latency,request/response,response wait
4,1000,54,2519,466,15,56,5,0,3721,4145,5801,11540,4000,54,3061

Concurrency,Inferences/Second
4,7
`;

describe("perfRows", () => {
  it("reads columns by their names, up to the blocks of composing models", () => {
    expect(perfRows(CSV)).toEqual([
      {
        concurrency: 4,
        throughput: 1000,
        averageUs: 4000,
        percentilesUs: [3721, 4145, 5801, 11540],
        serverUs: [466, 15, 56, 5],
      },
    ]);
  });

  it("refuses an export without a column that it needs", () => {
    expect(() => perfRows(CSV.replace("Avg latency", "Other"))).toThrow("no number for 'Avg latency'");
  });
});

describe("rowProblem", () => {
  const sane = {
    concurrency: 4,
    throughput: 1000,
    averageUs: 4000,
    percentilesUs: [3721, 4145, 5801, 11540],
    serverUs: [466, 15, 56, 5],
  };

  it("has nothing against numbers that agree", () => {
    expect(rowProblem(sane)).toBeUndefined();
  });

  it.each([
    ["nothing was measured", { throughput: 0 }],
    ["at a time", { averageUs: 8000 }],
    ["at a time", { concurrency: 16 }],
    ["percentiles do not ascend", { percentilesUs: [3721, 4145, 4000, 11540] }],
    ["the server tells of no time", { serverUs: [0, 0, 0, 0] }],
    ["are more than the client's 4000", { serverUs: [5000, 0, 0, 0] }],
  ])("says '%s' of %o", (text, change) => {
    expect(rowProblem({ ...sane, ...change })).toContain(text);
  });
});
