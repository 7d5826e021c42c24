import { createMemoryFileStore, printManifest, type RepositoryManifest } from "@naiad/core";
import { describe, expect, it } from "vitest";
import type { Fetch } from "./url-range.ts";
import { createUrlSource } from "./url-source.ts";

const { signal } = new AbortController();
const MODELS = "https://example.org/models";
const CONTENT = Uint8Array.from({ length: 100 }, (_, i) => i);
const manifest: RepositoryManifest = {
  models: [
    {
      name: "m",
      directories: ["1"],
      files: [{ path: "1/model.onnx", size: 100, sha256: "0".repeat(64), chunks: ["1".repeat(64)] }],
    },
  ],
};

interface Asked {
  readonly url: string;
  readonly range: string | null;
  readonly cache: string | undefined;
}

/** A `fetch` that answers from a function and refuses to be called as a method, as the browser's does. */
function fetchFrom(answer: (asked: Asked) => Response | Promise<Response>): { fetch: Fetch; asked: Asked[] } {
  const asked: Asked[] = [];
  async function fetch(this: unknown, url: string, init: RequestInit): Promise<Response> {
    if (this !== undefined) throw new TypeError("Illegal invocation");
    init.signal?.throwIfAborted();
    const request = { url, range: new Headers(init.headers).get("range"), cache: init.cache };
    asked.push(request);
    return answer(request);
  }
  return { fetch, asked };
}

function rangeOf(asked: Asked): { start: number; end: number } {
  const match = /^bytes=(\d+)-(\d+)$/.exec(asked.range ?? "");
  return { start: Number(match?.[1]), end: Number(match?.[2]) + 1 };
}

/** A body that arrives in pieces of seven bytes and tells when it was left. */
function piecewise(bytes: Uint8Array, onCancel: () => void = () => undefined): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at >= bytes.length) controller.close();
        else controller.enqueue(bytes.slice(at, (at += 7)));
      },
      cancel: onCancel,
    },
    { highWaterMark: 0 },
  );
}

const partial = (asked: Asked): Response => {
  const { start, end } = rangeOf(asked);
  return new Response(piecewise(CONTENT.subarray(start, end)), {
    status: 206,
    headers: { "content-range": `bytes ${String(start)}-${String(end - 1)}/100` },
  });
};

function sourceFrom(answer: (asked: Asked) => Response | Promise<Response>) {
  const { asked, fetch } = fetchFrom(answer);
  const source = createUrlSource({ url: MODELS }, { fetch, store: createMemoryFileStore() });
  const read = async (start: number, end: number, path = "1/model.onnx"): Promise<number[]> => {
    const bytes: number[] = [];
    for await (const piece of source.read("m", path, { start, end }, signal)) bytes.push(...piece);
    return bytes;
  };
  return { asked, source, read };
}

const expected = (start: number, end: number): number[] => [...CONTENT.subarray(start, end)];

describe("reading a range", () => {
  it("asks for exactly these bytes, past the HTTP cache", async () => {
    const { asked, read } = sourceFrom(partial);
    expect(await read(10, 40)).toEqual(expected(10, 40));
    expect(asked).toEqual([{ url: `${MODELS}/m/1/model.onnx`, range: "bytes=10-39", cache: "no-store" }]);
  });

  it("asks nothing for nothing", async () => {
    const { asked, read } = sourceFrom(partial);
    expect(await read(5, 5)).toEqual([]);
    expect(asked).toEqual([]);
  });

  it("escapes names, and keeps the slashes of the path", async () => {
    const { asked, read } = sourceFrom(partial);
    await read(0, 1, "1/größe #1?.bin");
    expect(asked[0]?.url).toBe(`${MODELS}/m/1/gr%C3%B6%C3%9Fe%20%231%3F.bin`);
  });

  it("skips to the range and leaves at its end where the server sends the whole file", async () => {
    let left = false;
    const { read } = sourceFrom(() => new Response(piecewise(CONTENT, () => (left = true))));
    expect(await read(10, 40)).toEqual(expected(10, 40));
    expect(left).toBe(true);
  });

  it("skips what comes before the range in a partial answer", async () => {
    const { read } = sourceFrom(
      () =>
        new Response(piecewise(CONTENT.subarray(5)), {
          status: 206,
          headers: { "content-range": "bytes 5-99/100" },
        }),
    );
    expect(await read(10, 40)).toEqual(expected(10, 40));
  });

  it("refuses a partial answer that begins too late", async () => {
    const { read } = sourceFrom(
      () =>
        new Response(piecewise(CONTENT), { status: 206, headers: { "content-range": "bytes 20-99/100" } }),
    );
    await expect(read(10, 40)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `${MODELS}/m/1/model.onnx: the server answered with bytes from 20 when asked from 10`,
    });
  });

  it("believes a partial answer whose Content-Range another origin hides", async () => {
    const { read } = sourceFrom((asked) => {
      const { start, end } = rangeOf(asked);
      return new Response(CONTENT.slice(start, end), { status: 206 });
    });
    expect(await read(10, 40)).toEqual(expected(10, 40));
  });

  it("gives up ranges for a file whose ranges count compressed bytes", async () => {
    const { asked, read } = sourceFrom((request) =>
      request.range === null
        ? new Response(piecewise(CONTENT), { headers: { "content-encoding": "gzip" } })
        : new Response(piecewise(CONTENT), { status: 206, headers: { "content-encoding": "gzip" } }),
    );
    expect(await read(10, 40)).toEqual(expected(10, 40));
    expect(await read(50, 60)).toEqual(expected(50, 60));
    expect(asked.map(({ range }) => range)).toEqual(["bytes=10-39", null, null]);
  });

  it("does not go round in circles with a server that compresses parts unasked", async () => {
    const { asked, read } = sourceFrom(
      () => new Response(piecewise(CONTENT), { status: 206, headers: { "content-encoding": "br" } }),
    );
    await expect(read(10, 40)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(asked).toHaveLength(2);
  });

  it("reports a body that ends early", async () => {
    const { read } = sourceFrom(() => new Response(piecewise(CONTENT.subarray(0, 21))));
    await expect(read(10, 40)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `${MODELS}/m/1/model.onnx: the answer ended after 11 of 30 bytes`,
    });
  });

  it("tells failures that may pass from those that stay", async () => {
    const codeOf = async (status: number): Promise<unknown> =>
      sourceFrom(() => new Response("", { status }))
        .read(0, 10)
        .catch((error: unknown) => error);
    for (const status of [408, 416, 429, 500, 503]) {
      expect(await codeOf(status)).toMatchObject({ code: "UNAVAILABLE" });
    }
    for (const status of [401, 403, 404, 410])
      expect(await codeOf(status)).toMatchObject({ code: "NOT_FOUND" });
  });

  it("recognises a start page served in place of a file", async () => {
    const page = () =>
      new Response("<!doctype html>", { headers: { "content-type": "text/html; charset=utf-8" } });
    await expect(sourceFrom(page).read(0, 10)).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: `${MODELS}/m/1/model.onnx: the server answered with an HTML page instead of the file`,
    });
    expect(await sourceFrom(page).read(0, 5, "readme.html")).toHaveLength(5);
  });

  it("ends the transfer when the reader leaves", async () => {
    let left = false;
    const { source } = sourceFrom(() => new Response(piecewise(CONTENT, () => (left = true))));
    for await (const piece of source.read("m", "1/model.onnx", { start: 0, end: 100 }, signal)) {
      expect(piece).toHaveLength(7);
      break;
    }
    expect(left).toBe(true);
  });
});

describe("the manifest", () => {
  const good = (): Response => new Response(printManifest(manifest));
  const offline = (): never => {
    throw new TypeError("Failed to fetch");
  };

  it("is <url>/index.json, asked from the server each time", async () => {
    const { asked, source } = sourceFrom(good);
    expect(source.id).toBe(`${MODELS}/`);
    expect(await source.manifest(signal)).toEqual(manifest);
    expect(asked).toEqual([{ url: `${MODELS}/index.json`, range: null, cache: "no-cache" }]);
  });

  it("may be brought by the page, and is then not asked for", async () => {
    const { asked, fetch } = fetchFrom(good);
    const location = { url: MODELS, manifest: printManifest(manifest) };
    const source = createUrlSource(location, { fetch, store: createMemoryFileStore() });
    expect(await source.manifest(signal)).toEqual(manifest);
    expect(asked).toEqual([]);
  });

  it("is that of the last visit when the server cannot be reached or is in trouble", async () => {
    const store = createMemoryFileStore();
    await createUrlSource({ url: MODELS }, { fetch: fetchFrom(good).fetch, store }).manifest(signal);
    const lines: string[] = [];
    const logger = { log: (_: string, message: string) => void lines.push(message) };
    for (const answer of [offline, () => new Response("", { status: 502 })]) {
      const later = createUrlSource({ url: `${MODELS}/` }, { fetch: fetchFrom(answer).fetch, store, logger });
      expect(await later.manifest(signal)).toEqual(manifest);
    }
    expect(lines).toEqual([
      `${MODELS}/index.json: Failed to fetch; using the manifest of the last visit`,
      `${MODELS}/index.json: HTTP status 502; using the manifest of the last visit`,
    ]);
  });

  it("tells of an outage once, and of its end", async () => {
    const lines: string[] = [];
    const answers = [good, offline, offline, offline, good, good, offline];
    const { fetch } = fetchFrom(() => (answers.shift() ?? offline)());
    const logger = { log: (level: string, message: string) => void lines.push(`${level}: ${message}`) };
    const source = createUrlSource({ url: MODELS }, { fetch, store: createMemoryFileStore(), logger });
    while (answers.length > 0) await source.manifest(signal);
    const outage = `warning: ${MODELS}/index.json: Failed to fetch; using the manifest of the last visit`;
    expect(lines).toEqual([outage, `info: ${MODELS}/index.json can be reached again`, outage]);
  });

  it("is unavailable when there never was one", async () => {
    await expect(sourceFrom(offline).source.manifest(signal)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: `${MODELS}/index.json: Failed to fetch`,
    });
  });

  it("is missing where the host answers 404 or its start page, and the message says what to do", async () => {
    const missing = sourceFrom(() => new Response("", { status: 404 })).source;
    await expect(missing.manifest(signal)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message:
        `no model repository at ${MODELS}/index.json: HTTP status 404; write the manifest with ` +
        "'naiad index <directory>' or pass one in the options",
    });
    for (const headers of [{ "content-type": "text/html" }, { "content-type": "application/json" }]) {
      const page = sourceFrom(() => new Response("\n<!doctype html>", { headers })).source;
      await expect(page.manifest(signal)).rejects.toThrow("the server answered with an HTML page");
    }
  });

  it("is told of by the repository's name where the address is nobody's business", async () => {
    const named = (answer: () => Response) =>
      createUrlSource(
        { url: MODELS, shownAs: "/srv/models" },
        { fetch: fetchFrom(answer).fetch, store: createMemoryFileStore() },
      );
    const unreadable = named(() => new Response("", { status: 404 }));
    const readFile = async (): Promise<unknown> =>
      unreadable.read("my model", "1/a.onnx", { start: 0, end: 1 }, signal)[Symbol.asyncIterator]().next();
    const failures: readonly (readonly [() => Promise<unknown>, string])[] = [
      [() => named(offline).manifest(signal), "/srv/models: Failed to fetch"],
      [() => unreadable.manifest(signal), "no model repository at /srv/models"],
      [() => named(() => new Response("", { status: 503 })).manifest(signal), "/srv/models: HTTP status 503"],
      [
        () => named(() => new Response("permission denied\n", { status: 503 })).manifest(signal),
        "/srv/models: permission denied",
      ],
      [() => named(() => new Response("{")).manifest(signal), "/srv/models: "],
      [readFile, "/srv/models/my model/1/a.onnx: HTTP status 404"],
    ];
    for (const [ask, text] of failures) {
      const { message } = await ask().then(
        () => new Error("no failure"),
        (error: unknown) => error as Error,
      );
      expect(message).toContain(text);
      expect(message).not.toContain(MODELS);
    }
    expect(named(good).id).toBe("/srv/models");
  });

  it("names the place of what is wrong with it", async () => {
    await expect(sourceFrom(() => new Response("{")).source.manifest(signal)).rejects.toThrow(
      `${MODELS}/index.json: `,
    );
    await expect(sourceFrom(() => new Response("{}")).source.manifest(signal)).rejects.toMatchObject({
      code: "INVALID_ARG",
      message: `${MODELS}/index.json: model repository manifest: naiad_manifest: is missing, so this is not a manifest`,
    });
  });

  it("is used although it cannot be stored", async () => {
    const lines: string[] = [];
    const source = createUrlSource(
      { url: MODELS },
      {
        fetch: fetchFrom(good).fetch,
        store: { ...createMemoryFileStore(), putDocument: () => Promise.reject(new Error("full")) },
        logger: { log: (_, message) => void lines.push(message) },
      },
    );
    expect(await source.manifest(signal)).toEqual(manifest);
    expect(lines).toEqual([`the manifest of ${MODELS}/ could not be stored: full`]);
  });

  it("gives the abort's own reason, not the memory of the last visit", async () => {
    const reason = new Error("tab closed");
    const store = createMemoryFileStore();
    await store.putDocument(`manifest: ${MODELS}/`, printManifest(manifest));
    const source = createUrlSource({ url: MODELS }, { fetch: fetchFrom(good).fetch, store });
    await expect(source.manifest(AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
