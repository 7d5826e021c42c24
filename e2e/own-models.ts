import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { MODELS } from "./origin.ts";

/** A model repository of a test's own. */
export interface OwnRepository {
  readonly directory: string;
  /** `path` begins with the model's name. */
  write(path: string, content: Uint8Array | string): Promise<void>;
  remove(): Promise<void>;
}

export async function ownRepository(
  files: Readonly<Record<string, Uint8Array | string>>,
): Promise<OwnRepository> {
  const directory = await mkdtemp(join(tmpdir(), "naiad-e2e-"));
  const write = async (path: string, content: Uint8Array | string): Promise<void> => {
    const file = join(directory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  };
  for (const [path, content] of Object.entries(files)) await write(path, content);
  return { directory, write, remove: () => rm(directory, { recursive: true }) };
}

/** A file of the fixture models. */
export async function fixtureFile(path: string): Promise<Uint8Array> {
  return await readFile(join(MODELS, path));
}

/** Bytes that no two places have in common, the same every time. */
export function ballast(byteLength: number): Uint8Array {
  const words = new Uint32Array(byteLength / 4);
  let state = 1;
  for (let index = 0; index < words.length; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    words[index] = state;
  }
  return new Uint8Array(words.buffer);
}

export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A request for a model's file. */
export interface FileRequest {
  /** Below the repository. */
  readonly path: string;
  /** First byte asked for and the byte after the last; absent for the whole file. */
  readonly range: readonly [start: number, end: number] | undefined;
}

/** Answers a request itself (true), or leaves it to the origin (false). */
export type Misbehaviour = (file: FileRequest, request: IncomingMessage, response: ServerResponse) => boolean;

/** Writes down what is asked of a repository, and may answer in its place. */
export interface Traffic {
  readonly intercept: (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
  /** Ranges asked of one file so far, in their order. */
  ranges(path: string): readonly FileRequest["range"][];
  /** Names of all files asked for, without manifests. */
  paths(): readonly string[];
  forget(): void;
  /** In force until the next call. */
  misbehave(how?: Misbehaviour): void;
}

export function watchTraffic(): Traffic {
  let asked: FileRequest[] = [];
  let misbehaviour: Misbehaviour | undefined;
  return {
    intercept(request, response, next) {
      const [, path] = /^\/models\/([^?]*)/.exec(request.url ?? "") ?? [];
      if (path === undefined) {
        next();
        return;
      }
      const file = { path, range: rangeOf(request.headers.range) };
      if (path !== "index.json") asked.push(file);
      if (misbehaviour?.(file, request, response) !== true) next();
    },
    ranges: (wanted) => asked.filter(({ path }) => path === wanted).map(({ range }) => range),
    paths: () => asked.map(({ path }) => path),
    forget() {
      asked = [];
    },
    misbehave(how) {
      misbehaviour = how;
    },
  };
}

function rangeOf(header: string | undefined): FileRequest["range"] {
  const match = /^bytes=(\d+)-(\d+)$/.exec(header ?? "");
  return match === null ? undefined : [Number(match[1]), Number(match[2]) + 1];
}

/** Begins the answer to a range of `content` and sends it up to `end`; the answer stays open. */
export function sendPart(
  response: ServerResponse,
  content: Uint8Array,
  { range = [0, content.byteLength] }: Pick<FileRequest, "range">,
  end: number,
): Promise<void> {
  const [start, wanted] = range;
  response.writeHead(206, {
    "content-type": "application/octet-stream",
    "content-length": wanted - start,
    "content-range": `bytes ${start}-${wanted - 1}/${content.byteLength}`,
    "cross-origin-resource-policy": "same-origin",
  });
  return new Promise((resolve) => {
    response.write(content.subarray(start, Math.min(wanted, end)), () => resolve());
  });
}
