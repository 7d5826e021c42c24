import { describe, expect, it } from "vitest";
import { bench, DECOUPLED, doubled, FAILED, model, request, textOf, textsOf } from "../test/model-bench.ts";
import { InferenceResponse } from "./model/inference-response.ts";
import type { ModelClass, ResponseSender } from "./model/model.ts";
import { Tensor } from "./model/tensor.ts";

describe("a response sender of a model that is not decoupled", () => {
  it("sends the one response, also after execute has returned", async () => {
    const late = model((requests) => {
      for (const given of requests) {
        const sender = given.getResponseSender();
        setTimeout(() => void sender.send(doubled(given), 1), 5);
      }
      return null;
    });
    expect(await textsOf(late)).toEqual(["Y=0", "Y=2"]);
  });

  it("keeps what it has finished when execute throws afterwards", async () => {
    const half = model(([first]) => {
      if (first !== undefined) void first.getResponseSender().send(doubled(first), 1);
      throw new Error("then");
    });
    expect(await textsOf(half)).toEqual(["Y=0", `${FAILED}Error: then`]);
  });

  const misuse = (act: (sender: ResponseSender, response: InferenceResponse) => void): ModelClass =>
    model(([given]) => {
      if (given !== undefined) act(given.getResponseSender(), doubled(given));
      return null;
    });

  it.each<[string, Parameters<typeof misuse>[0]]>([
    [
      "Unable to send response. Non-decoupled model cannot send more than one response.",
      (sender, response) => {
        void sender.send(response);
        void sender.send(response);
      },
    ],
    [
      "Unable to send response. Non-decoupled model cannot send complete final before sending a response.",
      (sender) => void sender.send(null, 1),
    ],
    [
      "Unable to send response. Unsupported flag provided.",
      (sender, response) => void sender.send(response, 2),
    ],
    [
      "Inference Response object must be provided when the response flags is set to zero.",
      (sender) => void sender.send(null),
    ],
  ])("refuses: %s", async (text, act) => {
    expect(await textsOf(misuse(act), 1)).toEqual([`${FAILED}ModelError: ${text}`]);
  });

  it("refuses everything after the end", async () => {
    const errors: unknown[] = [];
    const outcomes = await textsOf(
      model(([given]) => {
        if (given === undefined) return null;
        const sender = given.getResponseSender();
        void sender.send(doubled(given), 1);
        for (const response of [null, doubled(given)]) {
          try {
            void sender.send(response, 1);
          } catch (thrown) {
            errors.push(String(thrown));
          }
        }
        return null;
      }),
      1,
    );
    expect(outcomes).toEqual(["Y=0"]);
    expect(errors).toEqual([
      "ModelError: Unable to send response. Response sender has been closed.",
      // That there was one already comes before that it was the last.
      "ModelError: Unable to send response. Non-decoupled model cannot send more than one response.",
    ]);
  });
});

describe("a decoupled model", () => {
  it("sends any number of responses, during execute and after it", async () => {
    const { run, heard } = await bench(
      model(async (requests) => {
        for (const [index, given] of requests.entries()) {
          const sender = given.getResponseSender();
          for (let count = 0; count < index; count += 1) await sender.send(doubled(given));
          await sender.send(index === 0 ? null : doubled(given), 1);
        }
      }),
      { config: DECOUPLED },
    );
    const outcomes = await run([request([1]), request([2])]);
    expect(outcomes.map(textOf)).toEqual(["decoupled", "decoupled"]);
    await expect.poll(() => heard).toEqual(["0: end", "1: Y=4", "1: Y=4 end"]);
  });

  it("may send any number of rows", async () => {
    const { run, heard } = await bench(
      model(([given]) => {
        const two = new Tensor("Y", Float32Array.of(1, 2), [2, 1]);
        void given?.getResponseSender().send(new InferenceResponse({ outputTensors: [two] }), 1);
      }),
      { config: DECOUPLED },
    );
    await run([request([1, 2, 3], { batchSize: 3 })]);
    await expect.poll(() => heard).toEqual(["0: Y=1,2 end"]);
  });

  it("may not return anything", async () => {
    const { run, heard } = await bench(
      model(() => []),
      { config: DECOUPLED },
    );
    await run([request([1])]);
    await expect
      .poll(() => heard)
      .toEqual([
        "0: Failed to process the request(s) for model 'm_0_0', message: JavaScript model 'm' is using the decoupled " +
          "mode and the execute function must return None.",
      ]);
  });

  it("ends with its failure what it has not ended itself", async () => {
    const { run, heard } = await bench(
      model(([first]) => {
        if (first !== undefined) void first.getResponseSender().send(doubled(first), 1);
        throw new Error("then");
      }),
      { config: DECOUPLED },
    );
    await run([request([1]), request([2])]);
    await expect
      .poll(() => heard)
      .toEqual(["0: Y=2 end", "1: Failed to process the request(s) for model 'm_0_0', message: Error: then"]);
  });

  it("ends what it has not even taken up", async () => {
    const { run, heard } = await bench(
      model(([, second]) => {
        const sender = second?.getResponseSender();
        setTimeout(() => void sender?.send(null, 1), 5);
      }),
      { config: DECOUPLED },
    );
    await run([request([1]), request([2])]);
    await expect.poll(() => heard).toEqual([expect.stringContaining("has ended without"), "1: end"]);
  });

  it("streams while it asks to be executed again", async () => {
    const { run, heard } = await bench(
      model(async ([given]) => {
        if (given === undefined) return;
        await given.getResponseSender().send(doubled(given));
        given.setReleaseFlags(2);
      }),
      { config: `${DECOUPLED} sequence_batching { iterative_sequence: true }` },
    );
    expect((await run([request([1])])).map(textOf)).toEqual(["reschedule"]);
    expect(heard).toEqual(["0: Y=2"]);
  });
});
