import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { InferenceError, type InferenceStreamResponse, type OperationHandlers } from "@naiad/protocol";
import type { FakeStep } from "@naiad/testing";
import { echoModel, fakeHandlers } from "@naiad/testing";
import { afterEach, describe, expect, it } from "vitest";
import { connect } from "../test/clients.ts";
import { createGrpcBench, type GrpcBenchOptions } from "../test/grpc-bench.ts";
import { bool, echoMessage, firstInt32, string } from "../test/infer-messages.ts";
import { messageQueue } from "../test/message-queue.ts";
import {
  type ModelInferRequest,
  ModelInferRequestSchema,
  type ModelStreamInferResponse,
} from "./gen/grpc_service_pb.ts";
import { modelStreamInfer } from "./model-stream-infer.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const DECOUPLED = echoModel([1], "model_transaction_policy { decoupled: true }");
const ASKS_FOR_END = { triton_enable_empty_final_response: bool(true) };

const RESPONSE = (value: number): FakeStep => ({ kind: "response", value });
const LAST = (value: number): FakeStep => ({ kind: "response", value, final: true });
const END: FakeStep = { kind: "end" };

function decoupled(...scripts: readonly (readonly FakeStep[])[]): GrpcBenchOptions {
  return {
    models: { d: DECOUPLED },
    backend: { onExecute: () => ({ kind: "decoupled", scripts }) },
  };
}

/** `id value`, or `id error: text`; then what it says about the end. */
function line({ errorMessage, inferResponse }: ModelStreamInferResponse): string {
  const value = String(firstInt32(inferResponse?.rawOutputContents ?? []) ?? "-");
  const final = inferResponse?.parameters["triton_final_response"]?.parameterChoice.value;
  return [
    inferResponse?.id,
    errorMessage === "" ? value : `error: ${errorMessage}`,
    ...(final === undefined ? [] : [final ? "final" : "more"]),
  ].join(" ");
}

async function lines(responses: AsyncIterable<ModelStreamInferResponse>): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const response of responses) found.push(line(response));
  return found;
}

async function nextOf(
  responses: AsyncIterator<ModelStreamInferResponse>,
): Promise<ModelStreamInferResponse | undefined> {
  const next = await responses.next();
  return next.done === true ? undefined : next.value;
}

describe.each(["gRPC", "gRPC, compressed"] as const)("over %s", (protocol) => {
  async function start(options: GrpcBenchOptions) {
    const bench = await createGrpcBench({ protocol, ...options });
    closing.push(bench.close);
    return bench;
  }

  async function clientOf(handlers: Partial<OperationHandlers>) {
    const connection = await connect(protocol, { handlers: fakeHandlers(handlers) });
    closing.push(connection.close);
    return connection.client;
  }

  describe("a stream of requests", () => {
    it("is answered in its order by a model that gives one response to each", async () => {
      const { client } = await start({ models: { m: echoModel() } });
      const requests = [1, 2, 3].map((value) => echoMessage("m", value, { id: `r${String(value)}` }));
      expect(await lines(client.modelStreamInfer(messageQueueOf(requests)))).toEqual([
        "r1 1 final",
        "r2 2 final",
        "r3 3 final",
      ]);
    });

    it("goes on while the client waits for answers before it asks again", async () => {
      const { client } = await start({ models: { m: echoModel() } });
      const requests = messageQueue(echoMessage("m", 1));
      const responses = client.modelStreamInfer(requests)[Symbol.asyncIterator]();
      for (const value of [1, 2, 3]) {
        const response = await nextOf(responses);
        expect(response?.errorMessage).toBe("");
        expect(firstInt32(response?.inferResponse?.rawOutputContents ?? [])).toBe(value);
        requests.send(echoMessage("m", value + 1));
      }
      requests.end();
      expect((await responses.next()).done).toBe(false);
      expect((await responses.next()).done).toBe(true);
    });

    it("keeps the order of requests whose answers are ready out of it", async () => {
      const answers = new Map<string, () => void>();
      const client = await clientOf({
        modelConfig: () => Promise.resolve({}),
        modelStreamInfer: ({ id, modelName }) =>
          Promise.resolve(
            (async function* (): AsyncGenerator<InferenceStreamResponse> {
              await new Promise<void>((resolve) => answers.set(id, resolve));
              yield { id, modelName, modelVersion: "1", parameters: {}, outputs: [], final: true };
            })(),
          ),
      });
      const found = lines(
        client.modelStreamInfer(messageQueueOf(["a", "b"].map((id) => ({ modelName: "m", id })))),
      );
      // A generator begins when it is read: the second is not before the first is answered.
      await expect.poll(() => answers.get("a")).toBeDefined();
      expect(answers.has("b")).toBe(false);
      answers.get("a")?.();
      await expect.poll(() => answers.get("b")).toBeDefined();
      answers.get("b")?.();
      expect(await found).toEqual(["a - final", "b - final"]);
    });

    it("gets errors as responses, at their place, and goes on", async () => {
      const { client } = await start({ models: { m: echoModel() } });
      const requests = [
        echoMessage("m", 1, { id: "1" }),
        echoMessage("wrong", 2, { id: "2" }),
        { modelName: "m", id: "3", parameters: { triton_x: string("") } },
        echoMessage("m", 4, { id: "4" }),
      ];
      expect(await lines(client.modelStreamInfer(messageQueueOf(requests)))).toEqual([
        "1 1 final",
        "2 error: Request for unknown model: 'wrong' is not found",
        "3 error: parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting " +
          "with 'triton_' are allowed: triton_enable_empty_final_response",
        "4 4 final",
      ]);
    });

    it("tells what a model failed with as the last response to the request", async () => {
      const { client } = await start({
        models: { m: echoModel() },
        backend: { onExecute: () => ({ kind: "fail", error: { code: "INTERNAL", message: "broken" } }) },
      });
      const responses = client.modelStreamInfer(messageQueueOf([echoMessage("m", 1, { id: "1" })]));
      const response = await nextOf(responses[Symbol.asyncIterator]());
      expect(response?.errorMessage).toBe("broken");
      expect(response?.inferResponse).toMatchObject({
        id: "1",
        modelName: "m",
        modelVersion: "",
        outputs: [],
        parameters: { triton_final_response: { parameterChoice: { case: "boolParam", value: true } } },
      });
    });

    it("ends with a status at the first such error where its client asks for that", async () => {
      const { client } = await start({
        models: { m: echoModel() },
        backend: {
          onExecute: ({ requestIds }) =>
            requestIds.includes("bad")
              ? { kind: "fail", error: { code: "UNAVAILABLE", message: "broken" } }
              : { kind: "complete" },
        },
      });
      const requests = messageQueue(echoMessage("m", 1, { id: "good" }), echoMessage("m", 2, { id: "bad" }));
      const headers = { triton_grpc_error: "true" };
      const found: string[] = [];
      const reading = (async () => {
        for await (const response of client.modelStreamInfer(requests, { headers }))
          found.push(line(response));
      })();
      const error = await reading.then(
        () => undefined,
        (thrown: unknown) => ConnectError.from(thrown),
      );
      expect(found).toEqual(["good 1 final"]);
      expect([error?.code, error?.rawMessage]).toEqual([Code.Unavailable, "broken"]);
    });
  });

  describe("a decoupled model", () => {
    it("answers a request any number of times", async () => {
      const { client } = await start(decoupled([RESPONSE(1), RESPONSE(2), RESPONSE(3), END]));
      const requests = messageQueueOf([echoMessage("d", 0, { id: "r" })]);
      expect(await lines(client.modelStreamInfer(requests))).toEqual(["r 1 more", "r 2 more", "r 3 more"]);
    });

    it("tells its end where that is asked for", async () => {
      const { client } = await start(decoupled([RESPONSE(1), END]));
      const requests = messageQueueOf([echoMessage("d", 0, { id: "r", parameters: ASKS_FOR_END })]);
      expect(await lines(client.modelStreamInfer(requests))).toEqual(["r 1 more", "r - final"]);
    });

    it("tells its end with the last response where it is that", async () => {
      const { client } = await start(decoupled([RESPONSE(1), LAST(2)]));
      const requests = messageQueueOf([echoMessage("d", 0, { id: "r", parameters: ASKS_FOR_END })]);
      expect(await lines(client.modelStreamInfer(requests))).toEqual(["r 1 more", "r 2 final"]);
    });

    it("may have errors among its responses", async () => {
      const error = { code: "INTERNAL", message: "one of them" } as const;
      const { client } = await start(decoupled([{ kind: "error", error }, RESPONSE(2), END]));
      const requests = messageQueueOf([echoMessage("d", 0, { id: "r" })]);
      expect(await lines(client.modelStreamInfer(requests))).toEqual([
        "r error: one of them more",
        "r 2 more",
      ]);
    });

    it("may have a response that is too large for a message, and others after it", async () => {
      const sized = (length: number): InferenceStreamResponse => ({
        id: "r",
        modelName: "d",
        modelVersion: "1",
        parameters: {},
        outputs: [{ kind: "bytes", name: "y", datatype: "INT32", shape: [1], bytes: new Uint8Array(length) }],
      });
      const handlers = fakeHandlers({
        modelConfig: () => Promise.resolve({ model_transaction_policy: { decoupled: true } }),
        modelStreamInfer: () =>
          Promise.resolve(
            (async function* () {
              await Promise.resolve();
              yield sized(400);
              yield sized(4);
            })(),
          ),
      });
      const connection = await connect(protocol, { handlers, maxMessageSize: 300 });
      closing.push(connection.close);
      const requests = messageQueueOf([{ modelName: "d", id: "r" }]);
      expect(await lines(connection.client.modelStreamInfer(requests))).toEqual([
        "r error: Response has byte size 400 which exceeds gRPC's byte size limit 300. more",
        "r 0 more",
      ]);
    });

    it("may have nothing to say", async () => {
      const { client } = await start(decoupled([END]));
      expect(await lines(client.modelStreamInfer(messageQueueOf([echoMessage("d", 0)])))).toEqual([]);
    });

    it("is told when the client leaves in the middle of its answer", async () => {
      const { client, bench } = await start(
        decoupled([...Array.from({ length: 1000 }, (_, index) => RESPONSE(index)), END]),
      );
      const leaving = new AbortController();
      const responses = client.modelStreamInfer(messageQueue(echoMessage("d", 0)), {
        signal: leaving.signal,
      });
      expect((await responses[Symbol.asyncIterator]().next()).done).toBe(false);
      leaving.abort();
      await expect
        .poll(async () => {
          await bench.clock.settle();
          const statistics = await bench.server.modelStatistics(
            { modelName: "d", modelVersion: "" },
            { signal: new AbortController().signal },
          );
          return statistics.model_stats[0]?.inference_stats.fail.count;
        })
        .toBe(1);
    });
  });

  describe("many requests at once", () => {
    it("are read only so far as they are answered", async () => {
      const answers: (() => void)[] = [];
      let readCount = 0;
      const requests = async function* (): AsyncGenerator<ModelInferRequest> {
        for (; readCount < 2000; readCount += 1) {
          await Promise.resolve();
          yield create(ModelInferRequestSchema, { modelName: "d" });
        }
      };
      const leaving = new AbortController();
      const responses = modelStreamInfer(requests(), {
        handlers: fakeHandlers({
          modelConfig: () => Promise.resolve({ model_transaction_policy: { decoupled: true } }),
          modelStreamInfer: () =>
            Promise.resolve(
              (async function* (): AsyncGenerator<InferenceStreamResponse> {
                await new Promise<void>((resolve) => answers.push(resolve));
              })(),
            ),
        }),
        tracing: undefined,
        forwardMetadata: (request) => request,
        maxMessageSize: 1000,
        headers: new Headers(),
        signal: leaving.signal,
      });
      const ending = responses.next().catch((thrown: unknown) => InferenceError.from(thrown).code);
      await expect.poll(() => answers.length).toBe(1024);
      answers[0]?.();
      await expect.poll(() => answers.length).toBe(1025);
      expect(readCount).toBe(1024);
      leaving.abort();
      expect(await ending).toBe("CANCELLED");
    });

    it("do not wait for a decoupled one that takes its time", async () => {
      const open = new Map<string, (value: boolean) => void>();
      const client = await clientOf({
        modelConfig: () => Promise.resolve({ model_transaction_policy: { decoupled: true } }),
        modelStreamInfer: ({ id, modelName }) =>
          Promise.resolve(
            (async function* (): AsyncGenerator<InferenceStreamResponse> {
              const response = { id, modelName, modelVersion: "1", parameters: {}, outputs: [] };
              yield response;
              await new Promise((resolve) => open.set(id, resolve));
              yield { ...response, final: true };
            })(),
          ),
      });
      const found: string[] = [];
      const requests = messageQueue({ modelName: "d", id: "slow" }, { modelName: "d", id: "quick" });
      const reading = (async () => {
        for await (const response of client.modelStreamInfer(requests)) found.push(line(response));
      })();
      await expect.poll(() => open.size).toBe(2);
      open.get("quick")?.(true);
      await expect.poll(() => found.at(-1)).toBe("quick - final");
      open.get("slow")?.(true);
      requests.end();
      await reading;
      expect(found).toEqual(["slow - more", "quick - more", "quick - final", "slow - final"]);
    });

    it("are cancelled together when their client leaves", async () => {
      const signals: AbortSignal[] = [];
      const client = await clientOf({
        modelConfig: () => Promise.resolve({}),
        modelStreamInfer: (_, { signal }) => {
          signals.push(signal);
          return Promise.resolve(
            (async function* (): AsyncGenerator<InferenceStreamResponse> {
              await new Promise<void>((_resolve, reject) => {
                signal.addEventListener("abort", () => {
                  reject(new InferenceError("CANCELLED", "request was cancelled"));
                });
              });
            })(),
          );
        },
      });
      const leaving = new AbortController();
      const requests = messageQueue({ modelName: "m" }, { modelName: "m" });
      const reading = lines(client.modelStreamInfer(requests, { signal: leaving.signal }));
      const failing = reading.then(
        () => undefined,
        (thrown: unknown) => ConnectError.from(thrown).code,
      );
      await expect.poll(() => signals.length).toBe(2);
      leaving.abort();
      expect(await failing).toBe(Code.Canceled);
      await expect.poll(() => signals.every(({ aborted }) => aborted)).toBe(true);
      requests.end();
    });
  });
});

function messageQueueOf<Message>(messages: readonly Message[]): AsyncIterable<Message> {
  const queue = messageQueue(...messages);
  queue.end();
  return queue;
}
