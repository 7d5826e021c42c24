/** A promise that is settled from outside. */
export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value) => void;
  readonly reject: (reason: unknown) => void;
}

/** Nobody need listen: a rejection without a listener is no uncaught error. */
export function deferred<Value>(): Deferred<Value> {
  let resolve: Deferred<Value>["resolve"] = () => undefined;
  let reject: Deferred<Value>["reject"] = () => undefined;
  const promise = new Promise<Value>((...settle) => {
    [resolve, reject] = settle;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
