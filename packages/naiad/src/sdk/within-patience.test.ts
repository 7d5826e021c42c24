import { InferenceError } from "@naiad/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { withinPatience } from "./within-patience.ts";

/** Ends only when its signal fires, as a call does for which no host can be found. */
const unanswered = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(new InferenceError("CANCELLED", "request was cancelled"));
    });
  });

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("withinPatience", () => {
  const refusal = (): string => "nobody answers";

  it("gives the answer, and leaves no timer", async () => {
    const { signal } = new AbortController();
    const answer = withinPatience(() => Promise.resolve("here"), { signal, limitMs: 1_000, refusal });
    expect(await answer).toBe("here");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends with what is waited for when there is no answer in time", async () => {
    const { signal } = new AbortController();
    const refused = expect(
      withinPatience(unanswered, { signal, limitMs: 90_000, refusal }),
    ).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "nobody answers",
    });
    await vi.advanceTimersByTimeAsync(90_000);
    await refused;
  });

  it("passes on what the question itself ends with, and the caller's own signal", async () => {
    const caller = new AbortController();
    const options = { signal: caller.signal, limitMs: 1_000, refusal };
    await expect(withinPatience(() => Promise.reject(new Error("no")), options)).rejects.toThrow("no");
    const cancelled = expect(withinPatience(unanswered, options)).rejects.toMatchObject({
      code: "CANCELLED",
    });
    caller.abort();
    await cancelled;
    expect(vi.getTimerCount()).toBe(0);
  });
});
