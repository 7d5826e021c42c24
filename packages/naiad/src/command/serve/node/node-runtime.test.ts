import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { BroadcastChannel } from "node:worker_threads";
import { createTunnelAnswerer } from "@naiad/link/tunnel";
import type { HostStart } from "@naiad/runtime/contracts";
import { afterEach, describe, expect, it } from "vitest";
import { resolveSettings } from "../../../sdk/start-settings.ts";
import { createHostService } from "../host-service.ts";
import type { ServeLog } from "../serve-log.ts";
import { createNodeRuntime } from "./node-runtime.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A host thread that passes everything on to this thread, until it is told to hang or to end. */
const RELAY = `
  import { BroadcastChannel, parentPort, workerData } from "node:worker_threads";
  const { start, tunnel } = workerData;
  const test = new BroadcastChannel(start.storageName);
  console.log("successor of", start.successorOf);
  tunnel.on("message", (bytes) => test.postMessage({ toTest: bytes }));
  test.onmessage = ({ data }) => {
    if (data === "hang") for (;;);
    if (data === "end") process.exit(5);
    if (data.toThread !== undefined) tunnel.postMessage(data.toThread);
  };
  parentPort.postMessage("serving");`;

const SETTINGS = resolveSettings({ modelRepository: "models/" }, "file:///");

async function serviceOf(script: string, hangMs = 5000) {
  const directory = await mkdtemp(join(tmpdir(), "naiad-runtime-"));
  ends.push(() => rm(directory, { recursive: true }));
  const file = join(directory, "host.mjs");
  await writeFile(file, script);
  const lines: string[] = [];
  const log: ServeLog = {
    log: (level, message) => lines.push(`${level}: ${message}`),
    pass: ({ level, message }) => lines.push(`${level}: ${message}`),
    print: (text) => lines.push(text),
    close: () => Promise.resolve(),
  };
  let hosts = 0;
  const runtime = createNodeRuntime({
    script: pathToFileURL(file),
    directory,
    hostStart: ({ successorOf }): HostStart => {
      hosts += 1;
      return {
        wireVersion: 1,
        hostId: `host-${String(hosts)}`,
        options: SETTINGS.server,
        assets: {
          host: "",
          instanceWasm: "",
          instanceJspi: "",
          instanceAsyncify: "",
          instanceJavascript: "",
          ort: "",
        },
        storageName: directory,
        ...(successorOf !== undefined && { successorOf }),
      };
    },
    onOutput: (line) => lines.push(line),
  });
  const thread = new BroadcastChannel(directory);
  ends.push(() => {
    thread.close();
    return Promise.resolve();
  });
  const service = createHostService({ runtime, log, hangMs });
  ends.push(() => service.close());
  return { service, lines, thread };
}

/** Answers `control` in the place of the host, where only the start is asked for. */
function answer(thread: BroadcastChannel): void {
  createTunnelAnswerer({
    line: {
      send: (bytes) => {
        thread.postMessage({ toThread: bytes });
      },
      close: () => undefined,
      listen: (message) => {
        thread.onmessage = (event: unknown) => {
          const { toTest } = (event as { readonly data: { readonly toTest?: Uint8Array } }).data;
          if (toTest !== undefined) message(toTest);
        };
      },
    },
    defer: queueMicrotask,
    peer: "command",
    handlers: new Map([
      ["control", () => Promise.resolve({ status: 200, headers: [], body: new TextEncoder().encode("") })],
    ]),
  });
}

describe("the host service, with threads", () => {
  it.each([
    ["throws", 'throw new Error("no such file");', "the host thread failed: no such file"],
    ["ends", "process.exit(4);", "the host thread ended with code 4"],
  ])("does not start where the first thread %s", async (_how, script, reason) => {
    const { service } = await serviceOf(script);
    await expect(service.start()).rejects.toThrow(reason);
    expect(service.source()).toEqual({ kind: "absent", reason });
  });

  it("starts a thread that has ended anew, as its successor", async () => {
    const { lines, service, thread } = await serviceOf(RELAY);
    answer(thread);
    await service.start();
    thread.postMessage("end");
    await expect.poll(() => service.source().kind).toBe("absent");
    await expect.poll(() => service.source().kind, { timeout: 5000 }).toBe("serving");
    expect(lines).toContain(
      "error: the host thread ended with code 5; the host thread is started anew in 0.5 s",
    );
    await expect.poll(() => lines).toContain("successor of host-1");
  });

  it("ends a thread that hangs, and starts another", async () => {
    const { lines, service, thread } = await serviceOf(RELAY, 300);
    answer(thread);
    await service.start();
    thread.postMessage("hang");
    await expect
      .poll(() => lines, { timeout: 5000 })
      .toContain(
        "error: the host thread has not answered for 0.3 s; the host thread is started anew in 0.5 s",
      );
    await expect.poll(() => service.source().kind, { timeout: 5000 }).toBe("serving");
  });
});
