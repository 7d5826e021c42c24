import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import type { Diagnosis } from "../../sdk/diagnose.ts";
import { sendFile } from "../../site/send.ts";
import { openPrivateOrigin, privateBase, refuse } from "../private-origin.ts";

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
  let onReport: (report: Report) => void = () => undefined;
  const reported = new Promise<Report>((resolve) => {
    onReport = resolve;
  });

  const origin = await openPrivateOrigin({
    base: privateBase(),
    page: PAGE,
    answer: async ({ name, request, response }) => {
      switch (name) {
        case "index.js":
          await sendFile(sdk, {}, { request, response });
          return;
        case "report":
          onReport(await readReport(request));
          response.writeHead(204).end();
          return;
        default:
          refuse(response, 404);
      }
    },
  });
  return {
    url: `http://${origin.address}`,
    diagnosis: async (signal) => {
      const report = await orAborted(reported, signal);
      if (report.kind === "failed") throw new Error(`the page failed: ${report.reason}`);
      return report.diagnosis;
    },
    close: () => origin.close(),
  };
}

type Report =
  | { readonly kind: "found"; readonly diagnosis: Diagnosis }
  | { readonly kind: "failed"; readonly reason: string };

async function readReport(request: IncomingMessage): Promise<Report> {
  // The page above, which is the only one that knows the way here, sends nothing else.
  const { diagnosis, error } = (await json(request)) as {
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
