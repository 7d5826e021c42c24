import { cp } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { InferenceClient } from "@naiad/client";
import { createFetchTransport, createInferenceClient } from "@naiad/client";
import { freePorts, startService } from "./programs.ts";
import type { Tally } from "./tally.ts";

export interface OtherServers {
  /** With that server. */
  readonly python: string;
  readonly scratch: string;
  /** Folder of the scripts. */
  readonly scripts: string;
  readonly tally: Tally;
}

/** The SDK's client against MLServer, which knows tensors as JSON alone. */
export async function runMlserverCalls({ python, scratch, scripts, tally }: OtherServers): Promise<void> {
  const folder = join(scratch, "mlserver", "simple");
  await cp(join(scripts, "mlserver"), folder, { recursive: true });
  const [http, grpc, metrics] = await freePorts(3);
  const service = await startService(join(dirname(python), "mlserver"), ["start", folder], {
    env: {
      MLSERVER_HOST: "127.0.0.1",
      MLSERVER_HTTP_PORT: String(http),
      MLSERVER_GRPC_PORT: String(grpc),
      MLSERVER_METRICS_PORT: String(metrics),
      MLSERVER_PARALLEL_WORKERS: "0",
    },
    ready: (log) => log.includes(`Uvicorn running on http://127.0.0.1:${String(http)}`),
  });
  const client = createInferenceClient(
    createFetchTransport({ url: `http://127.0.0.1:${String(http)}`, tensors: "json" }),
  );
  const check = checks("SDK to MLServer", tally);
  try {
    await commonCalls(client, check, { server: "mlserver", unknownModel: "Model nobody not found" });
    await check("infer with an output that is asked for by name", async () => {
      same(await sums(client, ["OUTPUT1"]), [[], DIFFERENCES]);
    });
    await check("repositoryIndex, unloadModel, loadModel", async () => {
      await client.unloadModel("simple");
      same(await client.modelReady("simple"), false);
      await client.loadModel("simple");
      same(
        (await client.repositoryIndex()).map(({ name, state }) => [name, state]),
        [["simple", "READY"]],
      );
    });
    await check("loadModel of an unknown model", async () => {
      includes(await failure(client.loadModel("nobody")), "nobody");
    });
  } finally {
    await service.stop();
  }
}

/** The SDK's client against KServe's server, with tensors as JSON and as bytes. */
export async function runKserveCalls({ python, scripts, tally }: OtherServers): Promise<void> {
  const [http] = await freePorts(1);
  const service = await startService(python, [join(scripts, "kserve/add_sub.py"), String(http)], {
    ready: (log) => log.includes("Uvicorn running on"),
  });
  try {
    for (const tensors of ["json", "binary"] as const) {
      const url = `http://127.0.0.1:${String(http)}`;
      const client = createInferenceClient(createFetchTransport({ url, tensors }));
      await commonCalls(client, checks(`SDK to KServe, tensors as ${tensors}`, tally), {
        server: "kserve",
        unknownModel: "Model with name nobody does not exist",
      });
    }
  } finally {
    await service.stop();
  }
}

type Check = (name: string, run: () => Promise<void>) => Promise<void>;

function checks(client: string, tally: Tally): Check {
  return (name, run) =>
    tally.check(client, name, async () => {
      await run();
      return undefined;
    });
}

const RAMP = Int32Array.from({ length: 16 }, (_, index) => index);
const SUMS = [...RAMP].map((value) => value + 7);
const DIFFERENCES = [...RAMP].map((value) => value - 7);

async function commonCalls(
  client: InferenceClient,
  check: Check,
  { server, unknownModel }: { readonly server: string; readonly unknownModel: string },
): Promise<void> {
  await check("serverLive, serverReady, modelReady", async () => {
    same([await client.serverLive(), await client.serverReady()], [true, true]);
    same([await client.modelReady("simple"), await client.modelReady("nobody")], [true, false]);
  });
  await check("serverMetadata, modelMetadata", async () => {
    same((await client.serverMetadata()).name, server);
    const { inputs, name } = await client.modelMetadata("simple");
    const told = inputs.map((input) => [input.name, input.datatype, input.shape.map(Number)]);
    same(
      [name, told],
      [
        "simple",
        [
          ["INPUT0", "INT32", [-1, 16]],
          ["INPUT1", "INT32", [-1, 16]],
        ],
      ],
    );
  });
  await check("infer", async () => {
    same(await sums(client), [SUMS, DIFFERENCES]);
  });
  await check("infer, 16 at once, and each has its id", async () => {
    const ids = Array.from({ length: 16 }, (_, index) => `request ${String(index)}`);
    const results = await Promise.all(
      ids.map((id) => client.infer({ modelName: "simple", id, inputs: inputs() })),
    );
    same(
      results.map(({ id }) => id),
      ids,
    );
  });
  await check("infer that is aborted", async () => {
    const abort = new AbortController();
    const asked = client.infer({ modelName: "simple", inputs: inputs() }, { signal: abort.signal });
    abort.abort();
    includes(await failure(asked), "request was cancelled");
  });
  await check("errors of that server, as its own text", async () => {
    includes(await failure(client.modelMetadata("nobody")), unknownModel);
    includes(await failure(client.infer({ modelName: "nobody", inputs: inputs() })), unknownModel);
  });
}

function inputs(): Readonly<
  Record<string, { readonly data: Int32Array; readonly shape: readonly number[] }>
> {
  return {
    INPUT0: { data: RAMP, shape: [1, 16] },
    INPUT1: { data: new Int32Array(16).fill(7), shape: [1, 16] },
  };
}

/** The values of the two outputs; none of one that is not there. */
async function sums(
  client: InferenceClient,
  outputs?: readonly string[],
): Promise<readonly (readonly number[])[]> {
  const result = await client.infer({
    modelName: "simple",
    inputs: inputs(),
    ...(outputs !== undefined && { outputs: outputs.map((name) => ({ name })) }),
  });
  return ["OUTPUT0", "OUTPUT1"].map((name) =>
    (outputs ?? [name]).includes(name) ? [...result.output(name, "INT32").data] : [],
  );
}

async function failure(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => "no error",
    (error: unknown) => String(error),
  );
}

function includes(text: string, part: string): void {
  if (!text.includes(part)) throw new Error(`'${part}' is not in '${text}'`);
}

function same(actual: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${one} instead of ${other}`);
}
