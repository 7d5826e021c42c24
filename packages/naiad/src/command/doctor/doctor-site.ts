import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Diagnosis } from "../../sdk/diagnose.ts";
import { sendFile, sendText } from "../../site/send.ts";

/** The private origin of a page that looks around and reports. */
export interface DoctorSite {
  readonly url: string;
  /** What the page has found. Rejects with the signal's reason, and with the page's own error. */
  diagnosis(signal: AbortSignal): Promise<Diagnosis>;
  close(): Promise<void>;
}

const PAGE = `<!doctype html>
<meta charset="utf-8">
<title>Naiad</title>
<link rel="icon" href="data:,">
<script type="module">
  const report = (content) => fetch("report", { method: "POST", body: JSON.stringify(content) });
  try {
    const { diagnose } = await import("./index.js");
    await report({ diagnosis: await diagnose() });
  } catch (error) {
    await report({ error: String(error) });
  }
</script>
`;

/** `sdk`: the built SDK's file. */
export async function openDoctorSite(sdk: string): Promise<DoctorSite> {
  // Every user of the machine could ask here, and only the browser is told this path.
  const base = `/${randomBytes(24).toString("base64url")}/`;
  let onReport: (report: Report) => void = () => undefined;
  const reported = new Promise<Report>((resolve) => {
    onReport = resolve;
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = { request, response };
    response.setHeader("cross-origin-opener-policy", "same-origin");
    response.setHeader("cross-origin-embedder-policy", "require-corp");
    switch (request.url) {
      case base:
        sendText(PAGE, { "content-type": "text/html; charset=utf-8" }, exchange);
        return;
      case `${base}index.js`:
        await sendFile(sdk, {}, exchange);
        return;
      case `${base}report`:
        onReport(await readReport(request));
        response.writeHead(204).end();
        return;
      default:
        response.writeHead(404).end();
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => {
      response.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  // Of a port of TCP the address is an object.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${base}`,
    diagnosis: async (signal) => {
      const report = await orAborted(reported, signal);
      if (report.kind === "failed") throw new Error(`the page failed: ${report.reason}`);
      return report.diagnosis;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

type Report =
  | { readonly kind: "found"; readonly diagnosis: Diagnosis }
  | { readonly kind: "failed"; readonly reason: string };

async function readReport(request: IncomingMessage): Promise<Report> {
  let text = "";
  request.setEncoding("utf8");
  for await (const piece of request as AsyncIterable<string>) text += piece;
  // The page above, which is the only one that knows the way here, sends nothing else.
  const { diagnosis, error } = JSON.parse(text) as {
    readonly diagnosis?: Diagnosis;
    readonly error?: string;
  };
  return diagnosis === undefined
    ? { kind: "failed", reason: error ?? "it says nothing" }
    : { kind: "found", diagnosis };
}

function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      const reason: unknown = signal.reason;
      reject(reason instanceof Error ? reason : new Error(String(reason)));
    };
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject);
  });
}
