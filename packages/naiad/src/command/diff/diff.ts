import { createFetchTransport, createInferenceClient } from "@naiad/client";
import type { JsonValue } from "@naiad/protocol";
import { type CommandIo, type ExitCode, UsageError } from "../command-io.ts";
import { parseCommandLine } from "../parse-command-line.ts";
import { inputDataOption, serverUrl, shapeOptions } from "../server-options.ts";
import type { Difference } from "./compare-json.ts";
import type { ComparedServer } from "./diff-model.ts";
import { diffModel } from "./diff-model.ts";
import type { FaultRequest } from "./fault-requests.ts";

export const DIFF_SUMMARY: string = "Send the same requests to two servers and tell where they differ";

const HELP = `${DIFF_SUMMARY}.

Usage: naiad diff --against URL [options]

Compares two servers of the V2 protocol, such as Naiad's and a real Triton with the same models: metadata, configuration,
outputs of the same inferences, what they add to the statistics, and how wrong requests are refused.

Options:
  -u, --url HOST:PORT       The first server (default: localhost:8000)
      --against HOST:PORT   The other one; needed
  -m, --model-name NAME     A model; may be given several times (default: all that are ready on the first)
  -b, --batch-size N        Rows of each request (default: 1)
      --input-data zero|random|FILE  As for 'naiad perf' (default: random)
      --shape NAME:SIZE,...  Shape of an input that has a variable one (default: sizes of 1); may be given several times
      --request-count N     Requests for each model, or steps of a sequence (default: 3)
      --tolerance X         By how much floats may differ, absolutely or of the larger one (default: 1e-4)
      --ignore TEXT         Leave out what begins so, such as config.instance_group; may be given several times
      --json                Print one JSON object
  -h, --help                Show this help

Exit code: 0 when nothing differs, 1 when something does or a server does not answer, 2 for a wrong command line.`;

/** The `diff` command. */
export async function diff(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { positionals, values } = parseCommandLine(argv, {
    url: { type: "string", short: "u" },
    against: { type: "string" },
    "model-name": { type: "string", short: "m", multiple: true },
    "batch-size": { type: "string", short: "b" },
    "input-data": { type: "string" },
    shape: { type: "string", multiple: true },
    "request-count": { type: "string" },
    tolerance: { type: "string" },
    ignore: { type: "string", multiple: true },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) {
    io.out(HELP);
    return 0;
  }
  const [extra] = positionals;
  if (extra !== undefined)
    throw new UsageError(`'${extra}' is no option; the other server is named with --against`);
  if (values.against === undefined) throw new UsageError("the other server is missing: --against URL");
  const servers = [
    serverAt(serverUrl(values.url ?? "localhost:8000")),
    serverAt(serverUrl(values.against)),
  ] as const;
  const options = {
    data: {
      data: await inputDataOption(values["input-data"] ?? "random"),
      batchSize: positive("batch-size", values["batch-size"], 1),
      shapes: shapeOptions(values.shape ?? []),
      stringLength: 8,
    },
    requestCount: positive("request-count", values["request-count"], 3),
    tolerance: toleranceOf(values.tolerance),
  };
  const isMeant = ({ path }: Difference): boolean =>
    !(values.ignore ?? []).some((prefix) => path.startsWith(prefix));
  const found: Record<string, readonly Difference[]> = {};
  for (const modelName of values["model-name"] ?? (await readyModels(servers[0]))) {
    const differences = (await diffModel(servers, { ...options, modelName })).filter(isMeant);
    found[modelName] = differences;
    if (values.json !== true) for (const line of modelLines(modelName, differences)) io.out(line);
  }
  if (values.json === true) io.out(JSON.stringify({ models: found }, undefined, 2));
  return Object.values(found).some((differences) => differences.length > 0) ? 1 : 0;
}

function modelLines(modelName: string, differences: readonly Difference[]): readonly string[] {
  if (differences.length === 0) return [`${modelName}: no difference`];
  return [
    `${modelName}: ${differences.length} difference${differences.length === 1 ? "" : "s"}`,
    ...differences.flatMap(({ path, one, other }) => [
      `  ${path}`,
      `    - ${one ?? "(nothing)"}`,
      `    + ${other ?? "(nothing)"}`,
    ]),
  ];
}

async function readyModels({ client }: ComparedServer): Promise<readonly string[]> {
  const index = await client.repositoryIndex({ ready: true });
  const names = [...new Set(index.map(({ name }) => name))];
  if (names.length === 0) throw new Error("no model is ready on the first server");
  return names;
}

function serverAt(url: string): ComparedServer {
  const client = createInferenceClient(createFetchTransport({ url }));
  return { client, refusal: (request) => refusalOf(url, request) };
}

async function refusalOf(url: string, { method, path, body }: FaultRequest): Promise<JsonValue> {
  const answer = await fetch(`${url}/v2/${path}`, {
    method,
    ...(body !== undefined && { body, headers: { "content-type": "application/json" } }),
  });
  const text = await answer.text();
  let error: string = text;
  try {
    const parsed = JSON.parse(text) as { readonly error?: unknown };
    if (typeof parsed.error === "string") error = parsed.error;
  } catch {
    // What is no JSON is compared as it is.
  }
  return { status: answer.status, error };
}

function positive(name: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number above 0, but it is '${text}'`);
}

function toleranceOf(text: string | undefined): number {
  const tolerance = text === undefined ? 1e-4 : Number(text);
  if (tolerance >= 0) return tolerance;
  throw new UsageError(`--tolerance must be a number from 0 on, but it is '${text ?? ""}'`);
}
