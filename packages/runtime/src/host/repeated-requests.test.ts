import { InferenceError } from "@naiad/protocol";
import type { ReplayClass } from "@naiad/protocol";
import { createFakeClock } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { deferred } from "./deferred.ts";
import type { Deferred } from "./deferred.ts";
import { createRepeatedRequests } from "./repeated-requests.ts";

interface Answer {
  readonly text: string;
  readonly isStream?: true;
}

interface Delivery {
  readonly key?: string;
  readonly gateway?: string;
  readonly replay?: ReplayClass;
}

function setUp() {
  const clock = createFakeClock();
  const runs: { readonly key: string; readonly signal: AbortSignal; readonly result: Deferred<Answer> }[] =
    [];
  const dropped: string[] = [];
  const repeated = createRepeatedRequests<Answer>({
    clock,
    orphanMs: 1000,
    recordMs: 500,
    copy: (answer) => (answer.isStream ? undefined : { text: `copy of ${answer.text}` }),
    drop: ({ text }) => dropped.push(text),
  });
  const outcomes: string[] = [];

  /** Delivers one exchange; its outcome is noted under `name`. */
  function deliver(name: string, { key = "k", gateway = "g1", replay = "pure" }: Delivery = {}) {
    const abort = new AbortController();
    const run = (signal: AbortSignal): Promise<Answer> => {
      const result = deferred<Answer>();
      runs.push({ key, signal, result });
      return result.promise;
    };
    repeated.handle({ key, gatewayId: gateway, replay }, abort.signal, run).then(
      ({ text }) => outcomes.push(`${name}: ${text}`),
      (thrown: unknown) => outcomes.push(`${name}: ${InferenceError.from(thrown).message}`),
    );
    return abort;
  }

  return {
    clock,
    repeated,
    runs,
    dropped,
    outcomes,
    deliver,
    answer: async (index: number, answer: Answer = { text: "answer" }) => {
      runs[index]?.result.resolve(answer);
      await clock.settle();
    },
    /** As the host does it: first the notice, then the end of that gateway's calls. */
    die: async (gateway: string, ...calls: AbortController[]) => {
      repeated.gatewayDied(gateway);
      for (const call of calls) call.abort();
      await clock.settle();
    },
  };
}

describe("createRepeatedRequests", () => {
  it("runs each exchange of one gateway by itself", async () => {
    const { deliver, runs, answer, outcomes, clock } = setUp();
    deliver("a");
    deliver("b");
    expect(runs).toHaveLength(2);
    await answer(1, { text: "2" });
    await answer(0, { text: "1" });
    expect(outcomes).toEqual(["b: 2", "a: 1"]);
    expect(clock.timerCount).toBe(0);
  });

  it("runs different exchanges of two gateways by themselves", () => {
    const { deliver, runs } = setUp();
    deliver("a", { key: "k1" });
    deliver("b", { key: "k2", gateway: "g2" });
    expect(runs.map(({ key }) => key)).toEqual(["k1", "k2"]);
  });

  it("joins an equal exchange of another gateway while the first is unanswered, dead or not", async () => {
    const { deliver, runs, answer, outcomes } = setUp();
    deliver("first");
    deliver("repeated", { gateway: "g2" });
    expect(runs).toHaveLength(1);
    await answer(0);
    expect(outcomes.toSorted()).toEqual(["first: copy of answer", "repeated: answer"]);
  });

  it("lets each of several equal exchanges be adopted once", async () => {
    const { deliver, runs, answer, outcomes, die } = setUp();
    const calls = [deliver("a"), deliver("b")];
    await die("g1", ...calls);
    deliver("a again", { gateway: "g2" });
    deliver("b again", { gateway: "g2" });
    expect(runs).toHaveLength(2);
    deliver("c", { gateway: "g2" });
    expect(runs).toHaveLength(3);
    await answer(0, { text: "1" });
    await answer(1, { text: "2" });
    expect(outcomes.slice(2)).toEqual(["a again: 1", "b again: 2"]);
  });

  it("lets an orphan run on and adopt its answer later", async () => {
    const { deliver, runs, answer, outcomes, die, clock, dropped } = setUp();
    await die("g1", deliver("first"));
    expect(runs[0]?.signal.aborted).toBe(false);
    await clock.advance(300e6);
    await answer(0);
    await clock.advance(300e6);
    deliver("repeated", { gateway: "g2" });
    await clock.settle();
    expect(runs).toHaveLength(1);
    expect(outcomes).toEqual(["first: request was cancelled", "repeated: answer"]);
    await clock.advance(10e9);
    expect(dropped).toEqual([]);
    deliver("a new request", { gateway: "g3" });
    expect(runs).toHaveLength(2);
  });

  it("gives up an orphan that nobody adopts, running or answered", async () => {
    const { deliver, runs, answer, die, clock, dropped } = setUp();
    await die("g1", deliver("a", { key: "running" }), deliver("b", { key: "answered" }));
    await answer(1, { text: "b" });
    await clock.advance(1001e6);
    expect(runs[0]?.signal.aborted).toBe(true);
    expect(dropped).toEqual(["b"]);
    await answer(0, { text: "too late" });
    expect(dropped).toEqual(["b", "too late"]);
    deliver("repeated too late", { key: "answered", gateway: "g2" });
    expect(runs).toHaveLength(3);
    expect(clock.timerCount).toBe(0);
  });

  it("keeps an adopted orphan as long as it takes", async () => {
    const { deliver, runs, answer, outcomes, die, clock } = setUp();
    await die("g1", deliver("first"));
    deliver("repeated", { gateway: "g2" });
    await clock.advance(60e9);
    expect(runs[0]?.signal.aborted).toBe(false);
    await answer(0);
    expect(outcomes.at(-1)).toBe("repeated: answer");
  });

  it("adopts an orphan again when the second gateway dies too", async () => {
    const { deliver, runs, answer, outcomes, die } = setUp();
    await die("g1", deliver("first"));
    await die("g2", deliver("second", { gateway: "g2" }));
    deliver("third", { gateway: "g3" });
    await answer(0);
    expect(runs).toHaveLength(1);
    expect(outcomes.at(-1)).toBe("third: answer");
  });

  it("aborts a run that its living gateway cancels", async () => {
    const { deliver, runs, clock, outcomes } = setUp();
    deliver("a").abort();
    await clock.settle();
    expect(runs[0]?.signal.aborted).toBe(true);
    expect(outcomes).toEqual(["a: request was cancelled"]);
  });

  it("does not abort a run for which another still waits", async () => {
    const { deliver, runs, answer, outcomes } = setUp();
    const first = deliver("first");
    deliver("second", { gateway: "g2" });
    first.abort();
    await answer(0);
    expect(runs[0]?.signal.aborted).toBe(false);
    expect(outcomes).toEqual(["first: request was cancelled", "second: answer"]);
  });

  it("gives errors to everybody who waits", async () => {
    const { deliver, runs, clock, outcomes } = setUp();
    deliver("first");
    deliver("second", { gateway: "g2" });
    runs[0]?.result.reject(new InferenceError("INTERNAL", "no luck"));
    await clock.settle();
    expect(outcomes.toSorted()).toEqual(["first: no luck", "second: no luck"]);
  });

  it("gives a streamed answer to one only, and says so to the other", async () => {
    const { deliver, answer, outcomes } = setUp();
    deliver("first");
    deliver("second", { gateway: "g2" });
    await answer(0, { text: "stream", isStream: true });
    expect(outcomes.toSorted()).toEqual([
      "first: the answer to this request went to another service worker",
      "second: stream",
    ]);
  });

  describe("operations that change the server", () => {
    const load: Delivery = { key: "load", replay: "control" };

    it("are answered from the record of their first run, for a while", async () => {
      const { deliver, runs, answer, outcomes, clock } = setUp();
      deliver("load", load);
      await answer(0);
      deliver("load again", { ...load, gateway: "g2" });
      deliver("and again", { ...load, gateway: "g3" });
      await clock.settle();
      expect(runs).toHaveLength(1);
      expect(outcomes.slice(1)).toEqual(["load again: copy of answer", "and again: copy of answer"]);
      await clock.advance(501e6);
      deliver("load later", { ...load, gateway: "g4" });
      expect(runs).toHaveLength(2);
    });

    it("run again when the same gateway sends them again", async () => {
      const { deliver, runs, answer } = setUp();
      deliver("load", load);
      await answer(0);
      deliver("reload", load);
      expect(runs).toHaveLength(2);
    });

    it("run again when the server has been changed since", async () => {
      const { deliver, runs, answer } = setUp();
      deliver("load", load);
      await answer(0);
      deliver("unload", { key: "unload", replay: "control" });
      await answer(1);
      deliver("load after unload", { ...load, gateway: "g2" });
      expect(runs.map(({ key }) => key)).toEqual(["load", "unload", "load"]);
    });

    it("keep an orphan's answer, whatever changed since: it was never given", async () => {
      const { deliver, runs, answer, die, clock, outcomes } = setUp();
      await die("g1", deliver("load", load));
      await answer(0);
      deliver("unload", { key: "unload", replay: "control", gateway: "g2" });
      deliver("repeated", { ...load, gateway: "g2" });
      await clock.settle();
      expect(runs).toHaveLength(2);
      expect(outcomes.at(-1)).toBe("repeated: copy of answer");
    });
  });

  it("ends everything when it stops", async () => {
    const { deliver, runs, repeated, outcomes, clock, die } = setUp();
    await die("g1", deliver("orphan", { key: "orphan" }));
    deliver("waiting", { gateway: "g2" });
    repeated.stop();
    await clock.settle();
    expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(outcomes.at(-1)).toBe("waiting: the server is stopping");
    expect(clock.timerCount).toBe(0);
  });
});
