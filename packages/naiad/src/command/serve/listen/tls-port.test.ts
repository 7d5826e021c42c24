import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpsRequest } from "node:https";
import type { RequestOptions } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Listener } from "./listener.ts";
import { openListener } from "./listener.ts";
import { TEST_CERTIFICATE, TEST_KEY } from "./test-certificate.ts";

describe("a port with TLS", () => {
  it("serves over it, and asks clients for certificates where it is told to", async () => {
    const folder = await mkdtemp(join(tmpdir(), "naiad-tls-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const [certificate, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
    await writeFile(certificate, TEST_CERTIFICATE);
    await writeFile(key, TEST_KEY);
    const openTls = async (clientRoots: string | undefined): Promise<Listener> => {
      const listener = await openListener(
        { protocol: "http", address: "127.0.0.1", port: 0, tls: { certificate, key, clientRoots } },
        () => ({ kind: "absent", reason: "in this test" }),
        () => undefined,
      );
      onTestFinished(() => listener.close(AbortSignal.abort()));
      return listener;
    };
    const get = (port: number, more: RequestOptions = {}): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const options = { host: "127.0.0.1", port, path: "/v2", agent: false, ca: TEST_CERTIFICATE, ...more };
        const request = httpsRequest(options, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        request.on("error", reject);
        request.end();
      });

    const open = (files: { readonly certificate: string; readonly key: string }): Promise<Listener> =>
      openListener(
        { protocol: "http", address: "127.0.0.1", port: 0, tls: { ...files, clientRoots: undefined } },
        () => ({ kind: "absent", reason: "" }),
        () => undefined,
      );
    await expect(open({ certificate: join(folder, "none"), key })).rejects.toThrow(
      "--http-server-cert: ENOENT",
    );
    await expect(open({ certificate, key: join(folder, "none") })).rejects.toThrow(
      "--http-server-key: ENOENT",
    );
    await expect(open({ certificate: key, key })).rejects.toThrow(`--http-use-ssl: ${key}, ${key}: `);
    expect(await get((await openTls(undefined)).port)).toBe(503);
    const { port } = await openTls(certificate);
    await expect(get(port)).rejects.toThrow();
    expect(await get(port, { cert: TEST_CERTIFICATE, key: TEST_KEY })).toBe(503);
  });
});
