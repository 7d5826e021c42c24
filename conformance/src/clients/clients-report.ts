import type { Note } from "./tally.ts";

/** All of Triton's example programs in Python. */
export const EXAMPLE_PROGRAMS: readonly string[] = [
  "ensemble_image_client",
  "grpc_client",
  "grpc_explicit_byte_content_client",
  "grpc_explicit_int8_content_client",
  "grpc_explicit_int_content_client",
  "grpc_image_client",
  "image_client",
  "memory_growth_test",
  "reuse_infer_objects_client",
  "simple_grpc_aio_infer_client",
  "simple_grpc_aio_sequence_stream_infer_client",
  "simple_grpc_async_infer_client",
  "simple_grpc_cudashm_client",
  "simple_grpc_custom_args_client",
  "simple_grpc_custom_repeat",
  "simple_grpc_health_metadata",
  "simple_grpc_infer_client",
  "simple_grpc_keepalive_client",
  "simple_grpc_model_control",
  "simple_grpc_sequence_stream_infer_client",
  "simple_grpc_sequence_sync_infer_client",
  "simple_grpc_shm_client",
  "simple_grpc_shm_string_client",
  "simple_grpc_string_infer_client",
  "simple_http_aio_infer_client",
  "simple_http_async_infer_client",
  "simple_http_cudashm_client",
  "simple_http_health_metadata",
  "simple_http_infer_client",
  "simple_http_model_control",
  "simple_http_sequence_sync_infer_client",
  "simple_http_shm_client",
  "simple_http_shm_string_client",
  "simple_http_string_infer_client",
];

/** The example programs that no check of some release has followed. */
export function programsLeftOut(notes: readonly Note[], releases: readonly string[]): readonly string[] {
  return EXAMPLE_PROGRAMS.flatMap((program) =>
    releases
      .filter((release) => !notes.some((note) => note.program === program && note.release === release))
      .map((release) => `${program} (${release})`),
  );
}

/** Markdown with every call and its result: example programs, the calls of clients in several releases, and the rest. */
export function clientsReport(notes: readonly Note[]): string {
  const released = notes.filter(({ release }) => release !== undefined);
  const programs = released.filter(({ program }) => program !== undefined);
  const releases = distinct(programs.map(({ release = "" }) => release));
  return [
    "# Triton's example programs",
    table(
      ["program", "our calls", ...releases],
      distinct(programs.map(({ program = "" }) => program)).map((program) => {
        const own = programs.filter((note) => note.program === program);
        return [
          `\`${program}\``,
          `${distinct(own.map(({ client }) => client)).join(", ")}: ${distinct(own.map(({ name }) => name)).join(", ")}`,
          ...releases.map((release) => resultOf(own.filter((note) => note.release === release))),
        ];
      }),
    ),
    "# Clients",
    ...distinct(released.map(({ client }) => clientFamily(client))).map((family) => {
      const own = released.filter(({ client }) => clientFamily(client) === family);
      const columns = distinct(own.map(columnOf));
      return table(
        [family, ...columns],
        distinct(own.map(({ name }) => name)).map((name) => [
          name,
          ...columns.map((column) =>
            resultOf(own.filter((note) => note.name === name && columnOf(note) === column)),
          ),
        ]),
      );
    }),
    "# Other programs",
    table(
      ["program", "call", "result"],
      notes
        .filter(({ release }) => release === undefined)
        .map((note) => [
          note.client,
          `${note.name}${note.told === undefined ? "" : `: ${note.told}`}`,
          resultOf([note]),
        ]),
    ),
  ].join("\n\n");
}

/** The first word: the library whose clients share a table. */
function clientFamily(client: string): string {
  return client.startsWith("tritonclient") && !client.includes(" ") ? "tritonclient" : client;
}

function columnOf({ client, release = "" }: Note): string {
  return `${client.replace(/^tritonclient\.(?=\S+$)/, "")} ${release}`;
}

function resultOf(notes: readonly Note[]): string {
  if (notes.length === 0) return "";
  return notes.every(({ problem }) => problem === undefined) ? "ok" : "FAIL";
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines
    .map(
      (cells) => `| ${cells.map((cell) => cell.replace(/\s+/g, " ").replaceAll("|", "\\|")).join(" | ")} |`,
    )
    .join("\n");
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}
