import { describe, expect, it } from "vitest";
import { readTraceParent } from "./trace.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";

describe("readTraceParent", () => {
  it("reads W3C's headers", () => {
    expect(
      readTraceParent([
        ["tracestate", "a=1,b=2"],
        ["traceparent", `00-${TRACE_ID}-${SPAN_ID}-01`],
      ]),
    ).toEqual({ traceId: TRACE_ID, spanId: SPAN_ID, flags: 1, state: "a=1,b=2" });
  });

  it("takes what a later version adds", () => {
    expect(readTraceParent([["traceparent", `01-${TRACE_ID}-${SPAN_ID}-00-more`]])).toMatchObject({
      traceId: TRACE_ID,
      flags: 0,
      state: "",
    });
  });

  it.each([
    ["no header", undefined],
    ["another text", "0"],
    ["the version that is none", `ff-${TRACE_ID}-${SPAN_ID}-01`],
    ["more than its version has", `00-${TRACE_ID}-${SPAN_ID}-01-more`],
    ["the trace that is none", `00-${"0".repeat(32)}-${SPAN_ID}-01`],
    ["the span that is none", `00-${TRACE_ID}-${"0".repeat(16)}-01`],
    ["capitals", `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`],
  ])("takes %s for none", (_, value) => {
    expect(readTraceParent(value === undefined ? [] : [["traceparent", value]])).toBeUndefined();
  });
});
