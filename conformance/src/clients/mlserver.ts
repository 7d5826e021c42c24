import { cp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createFetchTransport, createInferenceClient } from "@naiad/client";
import { pythonEnvironment } from "./environments.ts";
import { startService } from "./programs.ts";
import type { Tally } from "./tally.ts";

export interface MlserverCalls {
  readonly cache: string;
  readonly scratch: string;
  /** Folder with the model and what it needs. */
  readonly model: string;
  readonly tally: Tally;
}

const NAME = "SDK to MLServer";

/** The SDK's client against a server that is not ours. */
export async function runMlserverCalls({ cache, model, scratch, tally }: MlserverCalls): Promise<void> {
  const python = await pythonEnvironment(cache, "mlserver", join(model, "requirements.txt"));
  const folder = join(scratch, "mlserver", "simple");
  await cp(model, folder, { recursive: true });
  const first = 30_000 + (process.pid % 9_000);
  const service = await startService(join(dirname(python), "mlserver"), ["start", folder], {
    env: {
      MLSERVER_HOST: "127.0.0.1",
      MLSERVER_HTTP_PORT: String(first),
      MLSERVER_GRPC_PORT: String(first + 1),
      MLSERVER_METRICS_PORT: String(first + 2),
      MLSERVER_PARALLEL_WORKERS: "0",
      PYTHONDONTWRITEBYTECODE: "1",
    },
    ready: (log) => log.includes(`Uvicorn running on http://127.0.0.1:${String(first)}`),
  });
  const client = createInferenceClient(
    createFetchTransport({ url: `http://127.0.0.1:${String(first)}`, tensors: "json" }),
  );
  const check = (name: string, run: () => Promise<void>): Promise<void> =>
    tally.check(NAME, name, async () => {
      await run();
      return undefined;
    });
  try {
    await check("serverLive, serverReady, modelReady", async () => {
      const answers = [
        await client.serverLive(),
        await client.serverReady(),
        await client.modelReady("simple"),
      ];
      same(answers, [true, true, true]);
    });
    await check("serverMetadata, modelMetadata", async () => {
      same((await client.serverMetadata()).name, "mlserver");
      const { inputs, platform } = await client.modelMetadata("simple");
      same([platform, inputs.map(({ name }) => name)], ["python", ["INPUT0", "INPUT1"]]);
    });
    await check("infer", async () => {
      const data = Int32Array.from({ length: 16 }, (_, index) => index);
      const input = { data, shape: [1, 16] };
      const result = await client.infer({
        modelName: "simple",
        id: "7",
        inputs: { INPUT0: input, INPUT1: input },
      });
      same(result.id, "7");
      same(
        [...result.output("OUTPUT0", "INT32").data],
        [...data].map((value) => 2 * value),
      );
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
    await check("an error of that server", async () => {
      const failure = await client.modelMetadata("nobody").then(
        () => "none",
        (error: unknown) => String(error),
      );
      if (!failure.includes("Model nobody not found")) throw new Error(failure);
    });
  } finally {
    await service.stop();
  }
}

function same(actual: unknown, expected: unknown): void {
  const [one, other] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (one !== other) throw new Error(`${one} instead of ${other}`);
}
