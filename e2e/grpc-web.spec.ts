import { readFile } from "node:fs/promises";
import type { Page } from "./fixtures.ts";
import { expect, openPage, serveOrigin, startOn, test } from "./fixtures.ts";
import { ownRepository } from "./own-models.ts";
import type { WebProtocol } from "./pages/grpc-client.ts";

const PROTOCOLS: readonly WebProtocol[] = ["gRPC-Web", "Connect"];
const UNIMPLEMENTED = 12;
const NOT_FOUND = 5;
const UNAVAILABLE = 14;

for (const protocol of PROTOCOLS) {
  test(`${protocol} from page code reaches the server through the service worker`, async ({
    blank,
    start,
  }) => {
    await start(blank, { loadModels: ["simple"] });
    const seen = await blank.evaluate(async (protocol) => {
      const { clientOf, failureOf } = await window.test.grpc();
      const client = clientOf(protocol, location.origin);
      const tensor = (name: string) => ({ name, datatype: "INT32", shape: [1n, 16n] });
      const values = Int32Array.from({ length: 16 }, (_, index) => index);
      const infer = (modelName: string) =>
        client.modelInfer({
          modelName,
          id: "7",
          inputs: [tensor("INPUT0"), tensor("INPUT1")],
          rawInputContents: [new Uint8Array(values.buffer), new Uint8Array(values.buffer)],
        });
      const { id, outputs, rawOutputContents } = await infer("simple");
      const sum = rawOutputContents[0]?.slice() ?? new Uint8Array(0);
      const { config } = await client.modelConfig({ name: "simple" });
      await client.repositoryModelLoad({ modelName: "identity_fp32" });
      return {
        id,
        output: outputs[0]?.name,
        sum: [...new Int32Array(sum.buffer)],
        ready: (await client.modelReady({ name: "identity_fp32" })).ready,
        maxBatchSize: config?.maxBatchSize,
        unknown: await failureOf(infer("nobody")),
        unheard: await failureOf(client.systemSharedMemoryRegister({ name: "r", key: "/k", byteSize: 1n })),
      };
    }, protocol);
    expect(seen).toEqual({
      id: "7",
      output: "OUTPUT0",
      sum: Array.from({ length: 16 }, (_, index) => 2 * index),
      ready: true,
      maxBatchSize: 8,
      unknown: [NOT_FOUND, "Request for unknown model: 'nobody' is not found"],
      unheard: [UNIMPLEMENTED, expect.any(String)],
    });
  });
}

const COUNTER = {
  "counter/config.pbtxt": `
      backend: "javascript"
      input { name: "N" data_type: TYPE_INT32 dims: [ 1 ] }
      output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] }
      model_transaction_policy { decoupled: true }`,
  // A number every 50 ms.
  "counter/1/model.js": `
      export default class {
        async execute(requests) {
          for (const request of requests) void this.count(request);
        }
        async count(request) {
          const sender = request.getResponseSender();
          const [count] = request.input("N").data;
          for (let index = 0; index < count && !sender.isCancelled(); index += 1) {
            await new Promise((resolve) => setTimeout(resolve, 50));
            const outputTensors = [new triton.Tensor("OUT", Int32Array.of(index), [1])];
            await sender.send(new triton.InferenceResponse({ outputTensors }));
          }
          sender.send(null, triton.RESPONSE_COMPLETE_FINAL);
        }
      }`,
};

/** Nobody waits for a response: a number would come for hours. */
async function expectNothingPending(page: Page): Promise<void> {
  await expect
    .poll(() =>
      page.evaluate(
        async () =>
          (await (await fetch("/metrics")).text()).match(
            /nv_inference_pending_request_count\{model="counter"[^}]*\} (\d+)/,
          )?.[1],
      ),
    )
    .toBe("0");
}

test("gRPC-Web streams a decoupled model as it answers, and cancels it", async ({ page }) => {
  const repository = await ownRepository(COUNTER);
  const origin = await serveOrigin({ models: repository.directory });
  try {
    await openPage(page, origin);
    await startOn(page, { loadModels: ["counter"] });
    const seen = await page.evaluate(async () => {
      const { failureOf, streamInfer, transportOf } = await window.test.grpc();
      const transport = transportOf("gRPC-Web", location.origin);
      const request = (count: number) => ({
        modelName: "counter",
        inputs: [{ name: "N", datatype: "INT32", shape: [1n] }],
        rawInputContents: [new Uint8Array(Int32Array.of(count).buffer)],
      });
      const numbers: (number | undefined)[] = [];
      for await (const { inferResponse } of streamInfer(transport, request(3))) {
        numbers.push(inferResponse?.rawOutputContents[0]?.[0]);
      }
      const leave = new AbortController();
      const left = await failureOf(
        (async () => {
          for await (const { inferResponse } of streamInfer(transport, request(1_000_000), leave.signal)) {
            if (inferResponse !== undefined) leave.abort();
          }
        })(),
      );
      const refused = await fetch("/inference.GRPCInferenceService/ServerLive", {
        method: "POST",
        headers: { "content-type": "application/grpc" },
      });
      return { numbers, left: left[0], refused: refused.status };
    });
    expect(seen).toEqual({ numbers: [0, 1, 2], left: 1, refused: 415 });
    await expectNothingPending(page);
  } finally {
    await origin.close();
    await repository.remove();
  }
});

test("the examples of the guide do what it says", async ({ page }) => {
  const text = async (path: string): Promise<string> =>
    readFile(new URL(path, import.meta.url), "utf8").then((found) => found.replaceAll("\r\n", "\n"));
  const examples = await text("pages/grpc-guide.ts");
  const shown = [...(await text("../docs/guide/grpc.md")).matchAll(/```ts\n(.*?)```/gs)].map(
    ([, code = ""]) => code,
  );
  expect(shown.length).toBe(3);
  for (const code of shown)
    expect(examples).toContain(code.replace("./gen/grpc_service_pb.js", "@naiad/grpc"));

  const repository = await ownRepository(COUNTER);
  const origin = await serveOrigin({ models: repository.directory });
  try {
    await openPage(page, origin);
    await startOn(page, { loadModels: ["counter"] });
    const counted = await page.evaluate(async () => {
      const { count } = await window.test.grpcGuide();
      const numbers: number[] = [];
      for await (const number of count(3, new AbortController().signal)) numbers.push(number);
      // Left by its reader.
      for await (const number of count(1_000_000, new AbortController().signal)) {
        if (number === 1) break;
      }
      return numbers;
    });
    expect(counted).toEqual([0, 1, 2]);
    await expectNothingPending(page);
  } finally {
    await origin.close();
    await repository.remove();
  }
});

test("the guide's example of one request adds", async ({ blank, start }) => {
  await start(blank, { loadModels: ["simple"] });
  const sums = await blank.evaluate(async () => {
    const { add } = await window.test.grpcGuide();
    const values = Int32Array.from({ length: 16 }, (_, index) => index);
    return [...(await add(values, values))];
  });
  expect(sums).toEqual(Array.from({ length: 16 }, (_, index) => 2 * index));
});

test("gRPC-Web hears why there is no server", async ({ blank }) => {
  const failure = await blank.evaluate(async () => {
    const { clientOf, failureOf } = await window.test.grpc();
    const start = window.test.start({ loadModels: ["nobody"] });
    await start.catch(() => undefined);
    return failureOf(clientOf("gRPC-Web", location.origin).serverLive({}));
  });
  expect(failure).toEqual([UNAVAILABLE, expect.stringContaining("nobody")]);
});
