import type { IncomingMessage, ServerResponse } from "node:http";

/** Sees every request of an origin first: answers it, or passes it on. */
export type Intercept = (request: IncomingMessage, response: ServerResponse, next: () => void) => void;

/** What a cross-origin isolated page needs on a worker's script. */
const SCRIPT_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/javascript",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "same-origin",
};

/**
 * Serves naiad's files a second time under `folder`, with a host script that runs `prelude` first. For the option
 * `assets` of a server that is to meet a broken platform.
 */
export function alteredHost(folder: string, prelude: string): Intercept {
  // Static imports: a worker that is still evaluating when a message comes would lose it.
  const host = `import "./prelude.js"; import "/naiad/workers/host.js";`;
  return (request, response, next) => {
    const path = request.url ?? "/";
    if (!path.startsWith(folder)) {
      next();
      return;
    }
    switch (path.slice(folder.length)) {
      case "workers/host.js":
        sendScript(response, host);
        return;
      case "workers/prelude.js":
        sendScript(response, prelude);
        return;
      default:
        response.writeHead(307, { ...SCRIPT_HEADERS, location: `/naiad/${path.slice(folder.length)}` });
        response.end();
    }
  };
}

/**
 * A host that says `running` on the BroadcastChannel `e2e` whenever an instance worker begins a run, and kills the youngest
 * of these workers on `kill-instance`: a crash of that worker.
 */
export const MORTAL_WORKERS: string = `
  const children = [];
  const channel = new BroadcastChannel("e2e");
  const Real = self.Worker;
  self.Worker = class extends Real {
    constructor(...args) {
      super(...args);
      children.push(this);
      this.addEventListener("message", ({ data }) => {
        if (/"operation":"(first-)?run"/.test(JSON.stringify(data, plain))) channel.postMessage("running");
      });
    }
  };
  const plain = (_key, value) => (ArrayBuffer.isView(value) || typeof value === "bigint" ? null : value);
  channel.addEventListener("message", ({ data }) => {
    if (data === "kill-instance") children.pop()?.terminate();
  });
`;

/** A browser that grants no storage, as some private windows do. */
export const NO_STORAGE: string = `
  IDBFactory.prototype.open = () => { throw new DOMException("denied by the user", "SecurityError"); };
`;

export function sendScript(response: ServerResponse, text: string): void {
  response.writeHead(200, SCRIPT_HEADERS).end(text);
}
