import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import type { WebSocket } from "ws";
import { WebSocketServer } from "ws";
import { serveSite } from "../../../site/middleware.ts";
import { sendFile, sendText } from "../../../site/send.ts";
import { createSite } from "../../../site/site.ts";
import type { PrivateRequest } from "../../private-origin.ts";
import { isReading, openPrivateOrigin, privateBase, randomToken, refuse } from "../../private-origin.ts";
import type { HostSource } from "../listen/host-source.ts";
import { relayExchange } from "../listen/relay-exchange.ts";
import type { PageReport, PageStart } from "../page/page-start.ts";

/** What a page finds out about; one page at a time. */
export interface PageListener {
  readonly start: () => PageStart;
  readonly onReport: (report: PageReport) => void;
  readonly onTunnel: (socket: WebSocket) => void;
}

/** The private origin of the browser: its page, workers, model repositories and the other end of the tunnel. */
export interface BrowserSite {
  /** Of the page, with a slash at its end. Everything else lies below it. */
  readonly url: string;
  readonly repositoryUrls: readonly string[];
  /** From now on requests are this page's; the result is the address at which it may connect, once. */
  admit(listener: PageListener): { readonly tunnelUrl: string };
  close(): Promise<void>;
}

export interface BrowserSiteOptions {
  readonly repositories: readonly string[];
  readonly distDirectory: string;
  readonly ortDirectory: string;
  readonly source: HostSource;
  readonly onWarning: (message: string) => void;
}

const PAGE = `<!doctype html>
<meta charset="utf-8">
<title>Naiad</title>
<link rel="icon" href="data:,">
<script type="module" src="page.js"></script>
`;

const MAX_REPORT_BYTES = 100_000;

export async function openBrowserSite(options: BrowserSiteOptions): Promise<BrowserSite> {
  const base = privateBase();
  const repositories = new Map(
    options.repositories.map((directory, index) => [`models/${String(index)}/`, directory] as const),
  );
  const serveFiles = serveSite(
    createSite({
      base,
      assets: "naiad/",
      serviceWorker: undefined,
      repositories,
      distDirectory: options.distDirectory,
      ortDirectory: options.ortDirectory,
      onWarning: options.onWarning,
    }),
  );
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  let page: PageListener | undefined;
  let token: string | undefined;

  async function answer({ name, request, response }: PrivateRequest): Promise<void> {
    const exchange = { request, response };
    if (name === "report" && request.method === "POST") {
      const report = await readReport(request);
      if (report !== undefined) page?.onReport(report);
      response.writeHead(204).end();
      return;
    }
    if (name.startsWith("v2-files/")) {
      await relayExchange(options.source, { ...exchange, protocol: "files", rawTarget: `/${name}` });
      return;
    }
    if (!isReading(request)) {
      refuse(response, 405);
    } else if (name === "start.json" && page !== undefined) {
      sendText(JSON.stringify(page.start()), { "content-type": "application/json" }, exchange);
    } else if (name === "page.js") {
      await sendFile(join(options.distDirectory, "serve-page.js"), {}, exchange);
    } else {
      serveFiles(request, response, (error) => {
        refuse(response, error === undefined ? 404 : 500);
      });
    }
  }

  const origin = await openPrivateOrigin({ base, page: PAGE, answer });
  origin.server.on("upgrade", (request, socket, head) => {
    const isExpected = token !== undefined && request.url === `${base}tunnel?token=${token}`;
    if (!isExpected || page === undefined) {
      socket.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n");
      return;
    }
    token = undefined;
    const { onTunnel } = page;
    sockets.handleUpgrade(request, socket, head, onTunnel);
  });
  const { address } = origin;
  return {
    url: `http://${address}`,
    repositoryUrls: [...repositories.keys()].map((folder) => `http://${address}${folder}`),
    admit(listener) {
      page = listener;
      token = randomToken();
      return { tunnelUrl: `ws://${address}tunnel?token=${token}` };
    },
    close: () => {
      for (const socket of sockets.clients) socket.terminate();
      return origin.close();
    },
  };
}

async function readReport(request: IncomingMessage): Promise<PageReport | undefined> {
  let text = "";
  request.setEncoding("utf8");
  for await (const piece of request as AsyncIterable<string>) {
    text += piece;
    if (text.length > MAX_REPORT_BYTES) return undefined;
  }
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof content !== "object" || content === null || !("kind" in content)) return undefined;
  if (content.kind === "started" && "hostId" in content) {
    return { kind: "started", hostId: String(content.hostId) };
  }
  if (content.kind === "lost" && "reason" in content) return { kind: "lost", reason: String(content.reason) };
  return undefined;
}
