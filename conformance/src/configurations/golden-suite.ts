import { isDeepStrictEqual } from "node:util";
import { parseConfigText, printConfig } from "@naiad/model-config";
import type { SuiteReport } from "../report.ts";
import { createTally, reasonOf } from "../report.ts";
import type { ConfigCorpus } from "./config-corpus.ts";

/** Every configuration text is read as protobuf reads it. */
export function runGoldenSuite(corpus: ConfigCorpus): SuiteReport {
  const tally = createTally();
  for (const fileName of corpus.fileNames) {
    try {
      const config = printConfig(parseConfigText(corpus.text(fileName), { fileName }));
      if (isDeepStrictEqual(roundIntegers(config), corpus.golden(fileName))) tally.pass();
      else tally.fail(fileName, "is not what protobuf reads");
    } catch (thrown) {
      tally.fail(fileName, reasonOf(thrown));
    }
  }
  return tally.report();
}

/** `JSON.parse` rounds integers beyond 2^53 in the golden files; ours are exact. */
function roundIntegers(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? Number(item) : item)),
  );
}
