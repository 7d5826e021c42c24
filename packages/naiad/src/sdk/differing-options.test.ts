import { describe, expect, it } from "vitest";
import { differingOptions } from "./differing-options.ts";
import { resolveSettings } from "./start-settings.ts";

const PAGE = "https://example.test/app/index.html";

describe("differingOptions", () => {
  it("names what differs, also inside", () => {
    const one = resolveSettings({ modelRepository: "a", id: "x" }, PAGE);
    const other = resolveSettings({ modelRepository: "b", limits: { runMs: 1 } }, PAGE);
    expect(differingOptions(one, other)).toEqual([
      "server.id",
      "server.limits.runMs",
      "server.modelRepositories",
    ]);
    expect(differingOptions(one, one)).toEqual([]);
  });
});
