import { join } from "node:path";
import { json } from "node:stream/consumers";
import type { PerfLevel, PerfReport, PerfReportHead, PerfWindow } from "../../../perf/perf-report.ts";
import { serveSite } from "../../../site/middleware.ts";
import type { PackageDirectories } from "../../../site/package-directories.ts";
import { sendFile, sendText } from "../../../site/send.ts";
import { createSite } from "../../../site/site.ts";
import { openPrivateOrigin, privateBase, refuse } from "../../private-origin.ts";

/** What the page tells, in this order; `done` or `failed` is the last. */
export type PageEvent =
  | { readonly kind: "settings"; readonly lines: readonly string[]; readonly head: PerfReportHead }
  | { readonly kind: "window"; readonly value: number; readonly window: PerfWindow }
  | { readonly kind: "level"; readonly level: PerfLevel }
  | { readonly kind: "done"; readonly report: PerfReport }
  | { readonly kind: "failed"; readonly reason: string };

export interface PerfSite {
  /** Of the page. */
  readonly url: string;
  close(): Promise<void>;
}

export interface PerfSiteOptions {
  readonly directories: PackageDirectories;
  readonly repositories: readonly string[];
  /** What the page's script takes from `start.json`. */
  readonly start: object;
  readonly onEvent: (event: PageEvent) => void;
  readonly onWarning: (message: string) => void;
}

/** Uses nothing but what applications have: the SDK and `naiad/perf`. */
const PAGE = `<!doctype html>
<meta charset="utf-8">
<title>Naiad</title>
<link rel="icon" href="data:,">
<script type="module">
  let told = Promise.resolve();
  const tell = (event) => {
    told = told.then(() => fetch("event", { method: "POST", body: JSON.stringify(event) }));
    return told;
  };
  try {
    const { createFetchTransport, createInferenceClient, startServer } = await import("./index.js");
    const { joinInputData, measure, parseInputData } = await import("./perf.js");
    const { input, parameters, repositories, settings, transport, loadModels } =
      await (await fetch("start.json")).json();
    const base = location.pathname;
    const server = await startServer({
      modelRepository: repositories,
      loadModels,
      base,
      mode: transport === "fetch" ? "service-worker" : "direct",
      ...(transport === "port" && { serviceWorker: false }),
    });
    const client =
      transport === "port"
        ? server.client
        : createInferenceClient(createFetchTransport({ url: location.origin + base.slice(0, -1) }));
    const made = input.kind === "zero" || input.kind === "random" ? input.kind : input;
    const report = await measure({
      ...settings,
      client,
      transport,
      inputData: input.kind === "texts" ? joinInputData(input.texts.map(parseInputData)) : made,
      requestParameters: Object.fromEntries(
        parameters.map(({ name, type, value }) => [name, type === "int64" ? BigInt(value) : value]),
      ),
      onSettings: (lines, head) => void tell({ kind: "settings", lines, head }),
      onWindow: (value, window) => void tell({ kind: "window", value, window }),
      onLevel: (level) => void tell({ kind: "level", level }),
    });
    await tell({ kind: "done", report });
  } catch (error) {
    await tell({ kind: "failed", reason: error instanceof Error ? error.message : String(error) });
  }
</script>
`;

export async function openPerfSite(options: PerfSiteOptions): Promise<PerfSite> {
  const { directories, onEvent, onWarning, start } = options;
  const base = privateBase();
  const repositories = new Map(
    options.repositories.map((directory, index) => [`models/${index}/`, directory] as const),
  );
  const startText = JSON.stringify({
    ...start,
    repositories: [...repositories.keys()].map((path) => base + path),
  });
  const serveFiles = serveSite(
    createSite({
      base,
      assets: "naiad/",
      serviceWorker: "naiad-sw.js",
      repositories,
      distDirectory: directories.dist,
      ortDirectory: directories.ort,
      onWarning,
    }),
  );

  const origin = await openPrivateOrigin({
    base,
    page: PAGE,
    answer: async ({ name, request, response }) => {
      const exchange = { request, response };
      switch (name) {
        case "start.json":
          sendText(startText, { "content-type": "application/json" }, exchange);
          return;
        case "index.js":
        case "perf.js":
          await sendFile(join(directories.dist, name), {}, exchange);
          return;
        case "event":
          // The page above, which is the only one that knows the way here, sends nothing else.
          onEvent((await json(request)) as PageEvent);
          response.writeHead(204).end();
          return;
        default:
          serveFiles(request, response, () => {
            refuse(response, 404);
          });
      }
    },
  });
  return { url: `http://${origin.address}`, close: () => origin.close() };
}
