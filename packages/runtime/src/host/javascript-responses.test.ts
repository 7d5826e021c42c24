import { InferenceError } from "@naiad/protocol";
import { describe, expect, it } from "vitest";
import { CONFIG, model, startServer } from "../../test/javascript-server.ts";

describe("a model in JavaScript", () => {
  it("that is decoupled sends what its caller reads, another model's too", async () => {
    const counting = `
      export default class {
        async execute(requests) {
          await Promise.all(requests.map(async (request) => {
            const sender = request.getResponseSender();
            const x = request.input("X");
            for (let step = 1; step <= x.data[0]; step += 1) {
              await sender.send(new triton.InferenceResponse({
                outputTensors: [new triton.Tensor("Y", Float32Array.of(step), [1, 1])],
              }));
            }
            await sender.send(null, triton.RESPONSE_COMPLETE_FINAL);
          }));
        }
      }`;
    const summing = `
      let sum = 0;
      for await (const response of args.inferStream({ modelName: "counting", inputs: [x] })) {
        if (response.hasError) throw response.error;
        sum += response.output("Y").data[0];
      }
      const { error } = await args.infer({ modelName: "counting", inputs: [x] });
      args.logger.info(error.message);
      return Float32Array.of(sum);`;
    const { infer, stream, lines } = await startServer({
      models: {
        counting: {
          "config.pbtxt": `${CONFIG} model_transaction_policy { decoupled: true }`,
          "1/model.js": counting,
        },
        summing: { "config.pbtxt": CONFIG, "1/model.js": model(summing) },
      },
    });
    expect(await stream("counting", [3])).toEqual([[1], [2], [3]]);
    expect(await stream("counting", [100])).toHaveLength(100);
    expect(await infer("summing", [4])).toEqual([10]);
    expect(lines.at(-1)).toContain("is using the decoupled. The current BLS request call doesn't support");
    expect(await infer("counting", [1])).toBe(
      "501 HTTP end point doesn't support models with decoupled transaction policy",
    );
  });

  it("hears that nobody waits for its answer any more, and is free for the next request", async () => {
    const waiting = `
      if (x.data[0] > 0) return x.data;
      args.logger.info("waits");
      await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
      args.logger.info("cancelled: " + request.isCancelled());
      return x.data;`;
    const { infer, operations, lines } = await startServer({
      models: { m: { "config.pbtxt": CONFIG, "1/model.js": model(waiting) } },
    });
    const gone = new AbortController();
    const bytes = new Uint8Array(4);
    const input = { kind: "bytes", name: "X", datatype: "FP32", shape: [1, 1], bytes } as const;
    const answer = operations.modelInfer(
      { modelName: "m", modelVersion: "", id: "", parameters: {}, inputs: [input], outputs: [] },
      { signal: gone.signal },
    );
    const outcome = answer.catch((thrown: unknown) => InferenceError.from(thrown).code);
    await expect.poll(() => lines.at(-1)).toBe("m_0: waits");
    gone.abort();
    expect(await outcome).toBe("CANCELLED");
    await expect.poll(() => lines.at(-1)).toBe("m_0: cancelled: true");
    expect(await infer("m", [1])).toEqual([1]);
  });

  it("answers requests of a sequence from what it remembers", async () => {
    const remembering = `
      const sums = new Map();
      export default class {
        execute(requests) {
          return requests.map((request) => {
            const x = request.input("X");
            if ((request.flags & triton.SEQUENCE_START) !== 0) sums.set(request.correlationId, 0);
            const sum = sums.get(request.correlationId) + x.data[0];
            sums.set(request.correlationId, sum);
            return new triton.InferenceResponse({ outputTensors: [new triton.Tensor("Y", Float32Array.of(sum), [1, 1])] });
          });
        }
      }`;
    const { infer } = await startServer({
      models: {
        m: { "config.pbtxt": `${CONFIG} sequence_batching { direct {} }`, "1/model.js": remembering },
      },
    });
    const step = (id: number, value: number, more: object = {}): Promise<unknown> =>
      infer("m", [value], { parameters: { sequence_id: id, ...more } });
    expect(await step(1, 1, { sequence_start: true })).toEqual([1]);
    expect(await step(2, 5, { sequence_start: true })).toEqual([5]);
    expect(await step(1, 2)).toEqual([3]);
    expect(await step(1, 3, { sequence_end: true })).toEqual([6]);
  });

  it("is executed again until it is done with an iterative sequence", async () => {
    const iterating = `
      const left = new Map();
      export default class {
        execute(requests) {
          return requests.map((request) => {
            const id = request.correlationId;
            const x = request.input("X");
            if ((request.flags & triton.SEQUENCE_START) !== 0) left.set(id, { steps: 0, wanted: x.data[0] });
            const state = left.get(id);
            state.steps += 1;
            if (state.steps < state.wanted) {
              request.setReleaseFlags(triton.REQUEST_RELEASE_RESCHEDULE);
              return null;
            }
            return new triton.InferenceResponse({
              outputTensors: [new triton.Tensor("Y", Float32Array.of(state.steps), [1, 1])],
            });
          });
        }
      }`;
    const { infer } = await startServer({
      models: {
        m: {
          "config.pbtxt": `${CONFIG} sequence_batching { iterative_sequence: true oldest { max_candidate_sequences: 4 } }`,
          "1/model.js": iterating,
        },
      },
    });
    expect(await Promise.all([infer("m", [3]), infer("m", [5])])).toEqual([[3], [5]]);
  });
});
