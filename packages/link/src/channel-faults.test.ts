import { InferenceError } from "@naiad/protocol";
import type { Demo } from "@naiad/testing";
import { ENDPOINT_KINDS, LOST, collect } from "@naiad/testing";
import { describe, expect, it } from "vitest";
import { connect } from "../test/connect.ts";
import type { Channel, FaultHook } from "./types.ts";

describe.each(ENDPOINT_KINDS)("faults over $name", ({ open }) => {
  const POINTS = ["channel.before-send", "channel.before-handle", "channel.before-reply"] as const;

  describe.each(POINTS)("at %s", (point) => {
    const side = point === "channel.before-send" ? "asking" : "answering";

    it.each(["call", "stream"] as const)("a fault fails the %s with its error", async (what) => {
      const fault: FaultHook = (at) => {
        if (at === point) throw new InferenceError("UNKNOWN", "armed");
      };
      const { asking } = connect(open(), { [side]: fault });
      await expect(ask(asking, what)).rejects.toMatchObject({ code: "UNKNOWN", message: "armed" });
    });

    it.each(["call", "stream"] as const)("the other side's death ends the %s", async (what) => {
      const hit = barrier();
      const fault: FaultHook = (at) => {
        if (at !== point) return;
        pair.right.kill();
        hit.open();
      };
      const pair = connect(open(), { [side]: fault });
      const pending = ask(pair.asking, what);
      await hit.opened;
      // The lock of the dead one is released: whoever waited for it says so.
      pair.asking.close(LOST);
      await expect(pending).rejects.toBe(LOST);
    });

    it.each(["call", "stream"] as const)("a hang ends with the %s's signal", async (what) => {
      const hit = barrier();
      const fault: FaultHook = (at) => {
        if (at !== point) return;
        hit.open();
        return new Promise<void>(() => undefined);
      };
      const { asking } = connect(open(), { [side]: fault });
      const controller = new AbortController();
      const pending = ask(asking, what, controller.signal);
      await hit.opened;
      controller.abort();
      await expect(pending).rejects.toMatchObject({ code: "CANCELLED" });
    });
  });

  it("passes the fault points of a harmless hook in their order", async () => {
    const passed: string[] = [];
    const fault: FaultHook = (point, detail) => {
      passed.push(`${point} ${detail}`);
    };
    const { asking } = connect(open(), { asking: fault, answering: fault });
    await asking.call("double", new Uint8Array());
    expect(passed).toEqual([
      "channel.before-send double",
      "channel.before-handle double",
      "channel.before-reply double",
    ]);
  });
});

async function ask(asking: Channel<Demo>, what: "call" | "stream", signal?: AbortSignal): Promise<unknown> {
  const options = signal === undefined ? {} : { signal };
  if (what === "call") return await asking.call("double", new Uint8Array([1]), options);
  return await collect(asking.stream("count", { to: 3 }, options));
}

function barrier(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}
