import type { RecordedAnswer } from "./oracle-request.ts";

export interface ComparedAnswers {
  readonly scenario: string;
  readonly recorded: RecordedAnswer;
  readonly answer: RecordedAnswer;
}

interface KnownDifference {
  readonly reason: string;
  readonly applies: (compared: ComparedAnswers) => boolean;
}

export interface KnownDifferences {
  /** Why an answer may be another than the recorded one, or `undefined` where nobody has said so. */
  reasonOf(compared: ComparedAnswers): string | undefined;
  /** Reasons of which no answer so far has made use: there is no such difference any more. */
  unused(): readonly string[];
}

export function createKnownDifferences(): KnownDifferences {
  const used = new Set<KnownDifference>();
  return {
    reasonOf: (compared) => {
      const known = KNOWN.find(({ applies }) => applies(compared));
      if (known !== undefined) used.add(known);
      return known?.reason;
    },
    unused: () => KNOWN.filter((known) => !used.has(known)).map(({ reason }) => reason),
  };
}

/** The recorded server is Triton 2.51; what we follow where both differ is the source of 2.73. */
const NEWER = "Triton 2.73 answers otherwise than the recorded 2.51";
const OURS = "a difference that docs/compatibility.md tells";

const KNOWN: readonly KnownDifference[] = [
  {
    reason: "the request ended the recorded server",
    applies: ({ recorded }) => recorded.status === 0,
  },
  {
    reason: "the text is that of a Python exception",
    applies: ({ recorded }) => /^\{"error":"Failed to process the request/.test(textOf(recorded)),
  },
  {
    reason: "numbers: rapidjson reads and prints the last digit of some doubles inexactly",
    applies: ({ recorded, answer }) => {
      const [theirs, ours] = [dataOf(recorded), dataOf(answer)];
      return (
        theirs !== undefined && ours !== undefined && Math.abs(theirs - ours) <= Math.abs(ours) * 2 ** -51
      );
    },
  },
  {
    reason: "of several faults Triton names the one that its hash table comes to first",
    applies: ({ recorded, answer }) => {
      const [theirs, ours] = [textOf(recorded), textOf(answer)];
      return theirs.includes("'INPUT1'") && theirs.replace("'INPUT1'", "'INPUT0'") === ours;
    },
  },

  {
    reason: `${NEWER}: readiness of what is unknown is 404`,
    applies: ({ recorded, answer }) =>
      textOf(recorded).includes('"Model version not ready"') &&
      unknownTexts(recorded.name).includes(textOf(answer)),
  },
  {
    reason: `${NEWER}: outputs asked for twice are refused`,
    applies: ({ answer }) => textOf(answer).includes("output 'OUTPUT0' already exists in request"),
  },
  {
    reason: `${NEWER}: a header length that is no number is refused`,
    applies: ({ answer }) => textOf(answer).includes("Unable to parse Inference-Header-Content-Length"),
  },
  {
    reason: `${NEWER}: binary_data_size without binary data has a text of its own`,
    applies: is(/expecting 64 additional bytes/, /must specify valid 'Infer-Header-Content-Length'/),
  },
  {
    reason: `${NEWER}: the count of elements must fit into 63 bits`,
    applies: ({ answer }) => textOf(answer).includes("causes total element count to exceed"),
  },
  {
    reason: `${NEWER}: an empty list of missing inputs is written as such`,
    applies: is(/missing required input\(s\) \]/, /missing required input\(s\) \[\]/),
  },
  {
    reason: `${NEWER}: a 'ready' that is no boolean is 400`,
    applies: is(/non-boolean as boolean/, /Invalid value for 'ready'/),
  },
  {
    reason: `${NEWER}: the body of an unload request is read`,
    applies: ({ recorded, answer }) => recorded.request.endsWith("/unload") && answer.status === 500,
  },
  {
    reason: `${NEWER}: trace settings of an unknown model are 404`,
    applies: is(/Request for unknown model : nobody/, /Request for unknown model: 'nobody'/),
  },
  {
    reason: `${NEWER}: client shared memory is off unless an option says so`,
    applies: ({ answer }) => textOf(answer).includes("Client shared memory is disabled"),
  },

  {
    reason: `${OURS}: version and extensions`,
    applies: ({ recorded }) => /^\/v2(\?.*)?$/.test(recorded.request),
  },
  {
    reason: `${OURS}: names in paths are decoded`,
    applies: ({ recorded }) => recorded.request.includes("%"),
  },
  {
    reason: `${OURS}: the reason of a refusal follows Triton's text`,
    applies: ({ recorded, answer }) => {
      const said = /^\{"error":"([^"]*?)\.?(?:;\\n)?"\}$/.exec(textOf(recorded))?.[1];
      return (
        said !== undefined &&
        recorded.status === answer.status &&
        textOf(answer).startsWith(`{"error":"${said}`)
      );
    },
  },
  {
    // After a load that found no version, the model is missing from Triton's index though its directory is there.
    reason: `${OURS}: the index tells what instances run on, and names models without versions`,
    applies: ({ recorded, answer }) =>
      recorded.request.endsWith("/index") && plainIndex(textOf(answer)) === plainIndex(textOf(recorded)),
  },
  {
    reason: `${OURS}: metrics have no port of their own`,
    applies: ({ recorded, answer }) =>
      /^\/metrics\/?$/.test(recorded.request) && recorded.status === 404 && answer.status === 200,
  },
  {
    reason: `${OURS}: statistics also tell what limited batches`,
    applies: ({ recorded, answer }) =>
      recorded.status === answer.status &&
      plainStatistics(textOf(answer)).replace(/,"batch_limits":\{[^}]*\}/g, "") ===
        plainStatistics(textOf(recorded)),
  },
  {
    reason: `${OURS}: a body that is not packed as its Content-Encoding says is refused`,
    applies: ({ answer }) => textOf(answer).includes("failed to decompress"),
  },
];

function is(recorded: RegExp, answered: RegExp): KnownDifference["applies"] {
  return (compared) => recorded.test(textOf(compared.recorded)) && answered.test(textOf(compared.answer));
}

/** What a path that asks for readiness can be told of a model or version that is not there, number for number. */
function unknownTexts(name: string): readonly string[] {
  const [, model = "", version = ""] = /\/models\/([^/]+)(?:\/versions\/0*(\d+))?\/ready$/.exec(name) ?? [];
  const of = `Request for unknown model: '${model}'`;
  return [
    `${of} is not found`,
    `${of} version ${version} is not found`,
    `${of} has no available versions`,
  ].map((error) => JSON.stringify({ error }));
}

function textOf({ body }: RecordedAnswer): string {
  return "text" in body ? body.text : "";
}

/** The only number of an answer with one. */
function dataOf(answer: RecordedAnswer): number | undefined {
  const text = /"data":\[([^\],]+)\]/.exec(textOf(answer))?.[1];
  return text === undefined ? undefined : Number(text);
}

/** Without what differs at each run. */
function plainStatistics(text: string): string {
  return text.replace(/"(ns|last_inference)":\d+/g, '"$1":0');
}

function plainIndex(text: string): string {
  const entries = JSON.parse(text) as readonly {
    readonly name: string;
    readonly version?: string;
    readonly state?: string;
  }[];
  const known = entries.filter(({ name }) => name !== "no_version");
  return JSON.stringify(known.map(({ name, version, state }) => [name, version, state]));
}
