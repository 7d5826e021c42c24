import { describe, expect, it } from "vitest";
import { clientsReport, EXAMPLE_PROGRAMS, programsLeftOut } from "./clients-report.ts";
import type { Note } from "./tally.ts";

const NOTES: readonly Note[] = [
  { client: "tritonclient.http", release: "2.0", name: "infer" },
  { client: "tritonclient.http", release: "2.0", name: "course: infer", program: "simple_http_infer_client" },
  {
    client: "tritonclient.http",
    release: "1.0",
    name: "course: infer",
    program: "simple_http_infer_client",
    problem: "broken",
  },
  { client: "tritonclient.grpc", release: "2.0", name: "infer" },
  { client: "curl", name: "curl 'a|b'", told: "12\nbytes" },
];

describe("clientsReport", () => {
  const report = clientsReport(NOTES);

  it("has a row for each example program with its calls and the result of each release", () => {
    expect(report).toContain("| program | our calls | 2.0 | 1.0 |");
    expect(report).toContain("| `simple_http_infer_client` | tritonclient.http: course: infer | ok | FAIL |");
  });

  it("has a column for each client and release, empty where a call is not the client's", () => {
    expect(report).toContain("| tritonclient | http 2.0 | http 1.0 | grpc 2.0 |");
    expect(report).toContain("| infer | ok |  | ok |");
  });

  it("lists the rest with what they tell, each in a row of its own", () => {
    expect(report).toContain("| curl | curl 'a\\|b': 12 bytes | ok |");
  });
});

describe("programsLeftOut", () => {
  it("names what a release was not tried with", () => {
    const left = programsLeftOut(NOTES, ["2.0", "1.0", "3.0"]);
    expect(left).toContain("simple_http_infer_client (3.0)");
    expect(left).not.toContain("simple_http_infer_client (2.0)");
    expect(left).toContain("grpc_client (2.0)");
    expect(left).toHaveLength(3 * EXAMPLE_PROGRAMS.length - 2);
  });
});
