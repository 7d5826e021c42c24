import { describe, expect, it } from "vitest";
import { normalizeConfig } from "./normalize.ts";
import { printConfig } from "./print.ts";
import { parseConfigText } from "./text.ts";

const parse = (text: string) => parseConfigText(text, { fileName: "config.pbtxt" });
const normalize = (text: string) => printConfig(normalizeConfig(parse(text)));

describe("normalizeConfig", () => {
  it("fills in the version policy and pinned memory", () => {
    expect(normalize("optimization { input_pinned_memory { enable: false } }")).toMatchObject({
      version_policy: { latest: { num_versions: 1 } },
      optimization: { input_pinned_memory: { enable: false }, output_pinned_memory: { enable: true } },
    });
    expect(normalize("version_policy { all {} }")).toMatchObject({ version_policy: { all: {} } });
  });

  it("prefers the whole batch", () => {
    expect(normalize("max_batch_size: 8 dynamic_batching {}")).toMatchObject({
      dynamic_batching: { preferred_batch_size: [8] },
    });
    expect(normalize("max_batch_size: 8 dynamic_batching { preferred_batch_size: 2 }")).toMatchObject({
      dynamic_batching: { preferred_batch_size: [2] },
    });
    expect(normalize("dynamic_batching {}")).toMatchObject({
      dynamic_batching: { preferred_batch_size: [] },
    });
    expect(normalize("max_batch_size: 8 sequence_batching { oldest {} }")).toMatchObject({
      sequence_batching: { oldest: { preferred_batch_size: [8] }, max_sequence_idle_microseconds: 1_000_000 },
    });
    expect(normalize("sequence_batching { max_sequence_idle_microseconds: 5 }")).toMatchObject({
      sequence_batching: { max_sequence_idle_microseconds: 5 },
    });
  });

  it("gives ensembles no optimization", () => {
    expect(normalize("ensemble_scheduling {}")).not.toHaveProperty("optimization");
  });

  it("is idempotent and leaves its argument alone", () => {
    const config = parse("max_batch_size: 8 dynamic_batching {}");
    const before = printConfig(config);
    const once = normalizeConfig(config);
    expect(printConfig(config)).toEqual(before);
    expect(printConfig(normalizeConfig(once))).toEqual(printConfig(once));
  });
});
