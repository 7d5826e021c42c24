import type { ExecuteContext } from "@naiad/core";
import { describe, expect, it } from "vitest";
import { contextOfSome } from "./foreign-tensors.ts";

describe("contextOfSome", () => {
  it("tells of the requests by the places that they had among all, and hears their signals", async () => {
    const told: string[] = [];
    const controllers = [0, 1, 2].map(() => new AbortController());
    const all: ExecuteContext = {
      responses: {
        response: (index, { kind }, flags) => {
          told.push(`${kind} ${index} ${String(flags?.final)}`);
          return Promise.resolve();
        },
        end: (index, error) => {
          told.push(`end ${index} ${String(error?.message)}`);
        },
      },
      signals: controllers.map(({ signal }) => signal),
    };
    const some = contextOfSome(all, [0, 2]);
    const response = { kind: "response", outputs: [], parameters: {} } as const;
    await some.responses.response(1, response, { final: true });
    some.responses.end(0, { code: "INTERNAL", message: "no" });
    expect(told).toEqual(["response 2 true", "end 0 no"]);
    controllers[2]?.abort();
    expect(some.signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  });
});
