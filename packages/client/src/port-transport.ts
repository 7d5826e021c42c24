import type { Channel } from "@naiad/link";
import type { ClientContract, InferenceRequest, StreamOperationName, Tensor } from "@naiad/protocol";
import type { TransportOptions } from "./transport.ts";

type Calls = ClientContract["calls"];
type Streams = Pick<ClientContract["streams"], StreamOperationName>;
type CallName = keyof Calls;

/** A transport that also carries what the host offers besides the operations. */
export interface PortTransport {
  call<Name extends CallName>(
    name: Name,
    input: Calls[Name]["input"],
    options?: TransportOptions,
  ): Promise<Calls[Name]["output"]>;
  stream<Name extends StreamOperationName>(
    name: Name,
    input: Streams[Name]["input"],
    options?: TransportOptions,
  ): AsyncIterable<Streams[Name]["item"]>;
}

/**
 * Calls over a channel to the host: no HTTP, no codec. What is not given up by `transfer` is copied here and the copy
 * transferred: that takes half the time of a structured clone (600 KB in Chromium: 0.4 against 0.7 ms), and a clone of a
 * small view would carry the whole buffer under it. The input itself stays whole, so a call may be repeated with it.
 */
export function createPortTransport(
  channel: Pick<Channel<ClientContract>, "call" | "stream">,
): PortTransport {
  return {
    call(name, input, options = {}) {
      const copy = COPIERS[name];
      if (copy === undefined || (options.transfer?.length ?? 0) > 0)
        return channel.call(name, input, options);
      const transfer: ArrayBuffer[] = [];
      return channel.call(name, copy(input, transfer), { ...options, transfer });
    },
    stream: (name, input, options = {}) => ({
      [Symbol.asyncIterator]: () => {
        const given = (options.transfer?.length ?? 0) > 0;
        const transfer: ArrayBuffer[] = [];
        const sent = given ? input : copyInputs(input, transfer);
        const items = channel.stream(name, sent, given ? options : { ...options, transfer });
        return items[Symbol.asyncIterator]();
      },
    }),
  };
}

/** For each call that carries bytes: its input with bytes of their own, whose buffers are added to `transfer`. */
const COPIERS: {
  readonly [Name in CallName]?: (
    input: Calls[Name]["input"],
    transfer: ArrayBuffer[],
  ) => Calls[Name]["input"];
} = {
  modelInfer: copyInputs,
  repositoryModelLoad: (load, transfer) =>
    load.files === undefined
      ? load
      : {
          ...load,
          files: Object.fromEntries(
            Object.entries(load.files).map(([path, bytes]) => [path, copyBytes(bytes, transfer)]),
          ),
        },
};

function copyInputs(request: InferenceRequest, transfer: ArrayBuffer[]): InferenceRequest {
  return { ...request, inputs: request.inputs.map((tensor) => copyTensor(tensor, transfer)) };
}

function copyTensor(tensor: Tensor, transfer: ArrayBuffer[]): Tensor {
  return tensor.kind === "bytes" ? { ...tensor, bytes: copyBytes(tensor.bytes, transfer) } : tensor;
}

function copyBytes(bytes: Uint8Array, transfer: ArrayBuffer[]): Uint8Array {
  const copy = new Uint8Array(bytes.length);
  copy.set(bytes);
  transfer.push(copy.buffer);
  return copy;
}
