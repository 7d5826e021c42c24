import type { CallContext, Channel, ChannelHandlers, EmptyContract, FaultHook, Reply } from "@naiad/link";
import { createChannel } from "@naiad/link";
import { InferenceError } from "@naiad/protocol";
import { pairedEndpoints } from "./paired-endpoints.ts";
import type { MortalEndpoint } from "./real-endpoints.ts";
import { realEndpoints } from "./real-endpoints.ts";

/** A contract with one call, stream and note for each thing that can happen. */
export interface Demo extends EmptyContract {
  readonly calls: {
    readonly double: { readonly input: Uint8Array; readonly output: Uint8Array };
    readonly fail: { readonly input: "async" | "sync" | "plain" | "too early"; readonly output: null };
    readonly wait: { readonly input: null; readonly output: string };
    readonly unclonable: { readonly input: null; readonly output: unknown };
  };
  readonly streams: {
    readonly count: {
      readonly input: { readonly to: number; readonly failAt?: number };
      readonly item: number;
    };
    readonly bytes: { readonly input: null; readonly item: Uint8Array };
    readonly silence: { readonly input: null; readonly item: never };
  };
  readonly notes: { readonly mark: string; readonly explode: null };
}

/** The answering side, with everything that a test may want to see of it. */
export class DemoServer implements ChannelHandlers<Demo> {
  readonly marks: string[] = [];
  readonly signals: AbortSignal[] = [];
  produced = 0;
  openedStreams = 0;
  closedStreams = 0;
  answerWaiting: (text: string) => void = () => undefined;

  readonly calls: ChannelHandlers<Demo>["calls"] = {
    double: (input) => {
      const value = input.map((byte) => byte * 2);
      return Promise.resolve({ value, transfer: [value.buffer] });
    },
    fail: (kind) => {
      const error = new InferenceError("NOT_FOUND", "no such thing");
      if (kind === "sync") throw error;
      if (kind === "too early") {
        return Promise.reject(new InferenceError("UNAVAILABLE", "too early", { retryAfterSecs: 1.5 }));
      }
      return Promise.reject(kind === "plain" ? new RangeError("oops") : error);
    },
    wait: (_input, { signal }) => {
      this.signals.push(signal);
      return new Promise((resolve) => {
        this.answerWaiting = (value) => {
          resolve({ value });
        };
      });
    },
    unclonable: () => Promise.resolve({ value: () => undefined }),
  };
  readonly streams: ChannelHandlers<Demo>["streams"] = {
    count: ({ to, failAt }, context) => this.#count(to, failAt, context),
    bytes: () => byteStream(),
    silence: (_input, { signal }) => silence(signal),
  };
  readonly notes: ChannelHandlers<Demo>["notes"] = {
    mark: (text) => {
      this.marks.push(text);
    },
    explode: () => {
      throw new Error("bad note");
    },
  };

  async *#count(to: number, failAt: number | undefined, context: CallContext): AsyncIterable<Reply<number>> {
    this.signals.push(context.signal);
    this.openedStreams += 1;
    try {
      for (let value = 0; value < to; value++) {
        if (value === failAt) throw new InferenceError("INVALID_ARG", `stuck at ${String(value)}`);
        this.produced += 1;
        yield await Promise.resolve({ value });
      }
    } finally {
      this.closedStreams += 1;
    }
  }
}

async function* byteStream(): AsyncIterable<Reply<Uint8Array>> {
  for (const first of [1, 2]) {
    const value = await Promise.resolve(new Uint8Array([first, 0, 255]));
    yield { value, transfer: [value.buffer] };
  }
}

/** Says nothing until it is cancelled. */
async function* silence(signal: AbortSignal): AsyncGenerator<Reply<never>> {
  await new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      resolve();
    });
  });
}

export const NOTHING: ChannelHandlers<EmptyContract> = { calls: {}, streams: {}, notes: {} };

/** A reason as somebody gives who has learned of the other side's death. */
export const LOST: InferenceError = new InferenceError("UNAVAILABLE", "worker is gone");

/** What a channel must work over. */
export const ENDPOINT_KINDS: readonly {
  readonly name: string;
  readonly open: () => { readonly left: MortalEndpoint; readonly right: MortalEndpoint };
}[] = [
  { name: "paired endpoints", open: () => pairedEndpoints() },
  { name: "a real MessageChannel", open: realEndpoints },
];

export interface DemoConnection {
  readonly asking: Channel<Demo>;
  readonly answering: Channel<EmptyContract>;
  readonly server: DemoServer;
  /** The asking side's end. */
  readonly left: MortalEndpoint;
  readonly right: MortalEndpoint;
}

export interface DemoFaults {
  readonly asking?: FaultHook;
  readonly answering?: FaultHook;
}

export function connectDemo(
  { left, right }: { readonly left: MortalEndpoint; readonly right: MortalEndpoint },
  faults: DemoFaults = {},
): DemoConnection {
  const server = new DemoServer();
  const asking = createChannel<Demo, EmptyContract>(left, NOTHING, {
    peer: "demo server",
    ...(faults.asking && { fault: faults.asking }),
  });
  const answering = createChannel<EmptyContract, Demo>(right, server, {
    peer: "demo client",
    ...(faults.answering && { fault: faults.answering }),
  });
  return { asking, answering, server, left, right };
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
