import { InferenceError } from "@naiad/protocol";
import { createServerBench, echoedValue, echoModel } from "@naiad/testing";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

const MS = 1_000_000;
const CLIENTS = 8;
const REQUESTS = 30;

/** What happens to the repository between two polls. */
const change = fc.record({
  versions: fc.constantFrom([1], [1, 2], [2], [1, 2, 3]),
  policy: fc.constantFrom("", "version_policy { all {} }", "version_policy { latest { num_versions: 2 } }"),
  group: fc.constantFrom("", "instance_group { kind: KIND_CPU count: 2 }"),
  /** Whether a load of it fails. */
  isBroken: fc.boolean(),
  /** Whether the configuration cannot even be read. */
  isUnreadable: fc.boolean(),
  /** Whether the manifest cannot be fetched for a while. */
  isOffline: fc.boolean(),
  afterMs: fc.integer({ min: 1, max: 2500 }),
});

describe("a repository that changes under a polling server", () => {
  it("never costs one of eight clients a request", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        let isBroken = false;
        const bench = createServerBench({
          models: { m: echoModel() },
          options: { modelControlMode: "poll", repositoryPollSecs: 1 },
          backend: {
            latencyNs: 3 * MS,
            onCreate: () =>
              isBroken
                ? { kind: "fail", latencyNs: 40 * MS, error: new InferenceError("INTERNAL", "broken") }
                : { kind: "create", latencyNs: 80 * MS },
          },
        });
        const started = bench.start();
        await bench.until(() => bench.backend.creationCount === 1);
        await bench.clock.advance(80 * MS);
        await started;

        const outcomes: unknown[] = [];
        const client = async (index: number): Promise<void> => {
          for (let count = 0; count < REQUESTS; count += 1) {
            const value = index * REQUESTS + count;
            const answer = await bench.infer("m", value).then(echoedValue, (thrown: unknown) => thrown);
            if (answer !== value) outcomes.push(answer);
            // Spread over all the changes.
            await new Promise<void>((resolve) => bench.clock.after(137 * MS, resolve));
          }
        };
        const clients = Array.from({ length: CLIENTS }, (_, index) => client(index));
        for (const { versions, policy, group, afterMs, ...faults } of changes) {
          isBroken = faults.isBroken;
          bench.repository.failWith(
            faults.isOffline ? new InferenceError("UNAVAILABLE", "offline") : undefined,
          );
          const broken = faults.isUnreadable ? "max_batch_size: many" : "";
          bench.repository.put("m", echoModel(versions, `${policy} ${group} ${broken}`));
          await bench.clock.advance(afterMs * MS);
        }
        await bench.clock.advance(5000 * MS);
        await Promise.all(clients);
        expect(outcomes).toEqual([]);

        const stopped = bench.server.stop();
        await bench.clock.advance(5000 * MS);
        await stopped;
        expect(bench.liveInstances).toBe(0);
        expect(bench.clock.timerCount).toBe(0);
      }),
      { seed: 62, numRuns: 100 },
    );
  });
});
