/** How a tensor's content travels in an infer body: inside the JSON, or as bytes after it. */
export type TensorTransfer = "json" | "binary";

/** A transfer for every tensor of a message: the named ones have their own. */
export interface TensorTransfers {
  readonly default: TensorTransfer;
  readonly byName: ReadonlyMap<string, TensorTransfer>;
}

/** What a request wants of its response. */
export type ResponseFormat = TensorTransfers;

export function transferOf(transfers: TensorTransfers, name: string): TensorTransfer {
  return transfers.byName.get(name) ?? transfers.default;
}

/** All tensors alike. */
export function allTensors(transfer: TensorTransfer): TensorTransfers {
  return { default: transfer, byName: new Map() };
}
