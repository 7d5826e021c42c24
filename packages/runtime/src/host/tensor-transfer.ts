import type { InstanceRequest } from "@naiad/core";
import type { Tensor } from "@naiad/protocol";

/**
 * Tensors are views: several of them lie on one request body. Structured clone copies the whole buffer under a view, and
 * a transfer takes it from under the others; so what is sent is either a buffer of the tensor's own or a fresh copy of
 * just its bytes, and always transferred.
 */
export interface Sendable<Value> {
  readonly value: Value;
  readonly transfer: readonly Transferable[];
}

/**
 * Copies, because the scheduler keeps the originals for a retry in another worker. What the scheduler knows of a request
 * beyond the port stays here.
 */
export function copyRequests(requests: readonly InstanceRequest[]): Sendable<readonly InstanceRequest[]> {
  const transfer: Transferable[] = [];
  const value = requests.map(
    ({
      inputs,
      outputs,
      keepOnDevice,
      timeoutUs,
      priority,
      sequence,
      traceId,
      ...request
    }): InstanceRequest => ({
      id: request.id,
      inputs: inputs.map((tensor) => sendable(tensor, copyOf, transfer)),
      outputs,
      ...(keepOnDevice !== undefined && { keepOnDevice }),
      batchSize: request.batchSize,
      parameters: request.parameters,
      ...(timeoutUs !== undefined && timeoutUs > 0 && { timeoutUs }),
      ...(priority !== undefined && priority > 0 && { priority }),
      ...(sequence !== undefined && { sequence }),
      ...(traceId !== undefined && { traceId }),
    }),
  );
  return { value, transfer };
}

/** Gives the tensors away. A tensor that shares its buffer with anything else is copied, within this list too. */
export function giveTensors(tensors: readonly Tensor[]): Sendable<readonly Tensor[]> {
  const transfer: Transferable[] = [];
  const value = tensors.map((tensor) => {
    const take = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => {
      const own = wholeBuffer(bytes);
      return own === undefined || transfer.includes(own.buffer) ? copyOf(bytes) : own;
    };
    return sendable(tensor, take, transfer);
  });
  return { value, transfer };
}

/** Gives bytes away as a buffer that holds nothing else. */
export function giveBytes(bytes: Uint8Array): ArrayBuffer {
  return (wholeBuffer(bytes) ?? copyOf(bytes)).buffer;
}

function sendable(
  tensor: Tensor,
  take: (bytes: Uint8Array) => Uint8Array<ArrayBuffer>,
  transfer: Transferable[],
): Tensor {
  if (tensor.kind === "device") return tensor;
  const bytes = take(tensor.bytes);
  transfer.push(bytes.buffer);
  return { ...tensor, bytes };
}

/** The same view where it spans its whole buffer and that buffer can be transferred. */
function wholeBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  return bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength
    ? (bytes as Uint8Array<ArrayBuffer>)
    : undefined;
}

/** Never on shared memory, whatever `bytes` lies on. */
function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
