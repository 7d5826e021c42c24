import { createServer } from "node:https";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { InferenceRequest } from "@naiad/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TEST_CERTIFICATE, TEST_KEY } from "../serve/listen/test-certificate.ts";
import type { CommandTarget } from "./command-target.ts";
import { createHttpTarget } from "./http-target.ts";
import type { TlsOptions } from "./tls-options.ts";
import { tlsConnectionOptions } from "./tls-options.ts";

const ANSWER = {
  model_name: "m",
  model_version: "1",
  outputs: [{ name: "y", datatype: "INT32", shape: [2], data: [5, 6] }],
};

let server: Server;
let port: number;
let urls: string[];
const open: CommandTarget[] = [];

beforeEach(async () => {
  urls = [];
  server = createServer({ cert: TEST_CERTIFICATE, key: TEST_KEY }, (request, response) => {
    urls.push(request.url ?? "");
    request.resume().on("end", () => {
      if (request.url === "/base/v2/models/a%20b/infer") response.end(JSON.stringify(ANSWER));
      else if (request.url === "/base/v2/models/busy/infer") response.writeHead(503).end("a page of a proxy");
      else response.end('{"name":"m","versions":["1"],"platform":"p","inputs":[],"outputs":[]}');
    });
  });
  // A handshake that is refused is told here too.
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
});
afterEach(async () => {
  for (const target of open.splice(0)) target.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function target(tls: Partial<TlsOptions>): CommandTarget {
  const opened = createHttpTarget({
    url: `https://127.0.0.1:${port}/base`,
    tls: { verifiesPeer: true, verifiesHost: true, ...tls },
    headers: {},
    inputs: "binary",
    outputs: "json",
  });
  open.push(opened);
  return opened;
}

function request(modelName: string): InferenceRequest {
  return { modelName, modelVersion: "", id: "", parameters: {}, inputs: [], outputs: [] };
}

const FOR_EVER = new AbortController().signal;
const AUTHORITY = { authorities: Buffer.from(TEST_CERTIFICATE) };

describe("the HTTP target", () => {
  it("asks over TLS, below the path of its URL, and has the outputs for who asks", async () => {
    const trusting = target(AUTHORITY);
    expect(await trusting.modelMetadata("m", "")).toMatchObject({ platform: "p" });
    const { outputs, responses } = await trusting.infer(request("a b"), FOR_EVER);
    expect(responses).toBe(1);
    expect(outputs()).toMatchObject([{ name: "y", bytes: Uint8Array.of(5, 0, 0, 0, 6, 0, 0, 0) }]);
    expect(urls).toEqual(["/base/v2/models/m", "/base/v2/models/a%20b/infer"]);
  });

  it("trusts only whom it is told to, unless it is told not to look", async () => {
    await expect(target({}).modelMetadata("m", "")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(target({}).infer(request("a b"), FOR_EVER)).rejects.toThrow(
      `https://127.0.0.1:${port}/base: `,
    );
    expect(await target({ verifiesPeer: false }).modelMetadata("m", "")).toMatchObject({ name: "m" });
    // Names are looked at where the peer is; without that every name is fine.
    expect(tlsConnectionOptions({ verifiesPeer: true, verifiesHost: true })).toEqual({
      rejectUnauthorized: true,
    });
    const unnamed = tlsConnectionOptions({ verifiesPeer: true, verifiesHost: false });
    expect(typeof unnamed.checkServerIdentity).toBe("function");
  });

  it("rejects with the server's status, and what an abort says", async () => {
    const trusting = target(AUTHORITY);
    await expect(trusting.infer(request("busy"), FOR_EVER)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "HTTP status 503",
    });
    const stopped = AbortSignal.abort(new Error("stopped"));
    await expect(trusting.infer(request("a b"), stopped)).rejects.toThrow("stopped");
  });
});
