import type { InferenceError } from "@naiad/protocol";

/** Items on their way from whoever produces them to one reader, who may be slower. */
export interface ResponseStream<Item> {
  readonly items: AsyncIterable<Item>;
  /** Resolves when there is room for another, at once where no more are wanted. */
  push(item: Item): Promise<void>;
  /** The reader gets what is there and then the end. */
  end(): void;
  /** The reader gets what is there and then the error. */
  fail(error: InferenceError): void;
  /** The reader gets the error and nothing else. */
  abort(error: InferenceError): void;
}

export interface ResponseStreamOptions {
  /** Items that wait unread before the producer is held. */
  readonly capacity: number;
  /** The reader left before the end. */
  readonly onLeave: () => void;
}

interface Reader<Item> {
  readonly resolve: (result: IteratorResult<Item, undefined>) => void;
  readonly reject: (error: InferenceError) => void;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

export function createResponseStream<Item>({
  capacity,
  onLeave,
}: ResponseStreamOptions): ResponseStream<Item> {
  const waiting: Item[] = [];
  const readers: Reader<Item>[] = [];
  let producers: (() => void)[] = [];
  let ending: { error: InferenceError | undefined } | undefined;

  function letProducersOn(): void {
    const held = producers;
    producers = [];
    for (const goOn of held) goOn();
  }

  function close(error: InferenceError | undefined): void {
    if (ending !== undefined) return;
    ending = { error };
    letProducersOn();
    for (const { resolve, reject } of readers.splice(0)) {
      if (ending.error === undefined) resolve(DONE);
      else reject(ending.error);
      ending = { error: undefined };
    }
  }

  const iterator: AsyncIterator<Item, undefined> = {
    next: () => {
      const item = waiting.shift();
      if (item !== undefined) {
        if (waiting.length < capacity) letProducersOn();
        return Promise.resolve({ done: false, value: item });
      }
      if (ending === undefined) {
        return new Promise((resolve, reject) => {
          readers.push({ resolve, reject });
        });
      }
      const { error } = ending;
      ending = { error: undefined };
      return error === undefined ? Promise.resolve(DONE) : Promise.reject(error);
    },
    return: () => {
      waiting.length = 0;
      const isEarly = ending === undefined;
      close(undefined);
      ending = { error: undefined };
      if (isEarly) onLeave();
      return Promise.resolve(DONE);
    },
  };

  return {
    items: { [Symbol.asyncIterator]: () => iterator },
    push: (item) => {
      if (ending !== undefined) return Promise.resolve();
      const reader = readers.shift();
      if (reader !== undefined) {
        reader.resolve({ done: false, value: item });
        return Promise.resolve();
      }
      waiting.push(item);
      if (waiting.length < capacity) return Promise.resolve();
      return new Promise((resolve) => {
        producers.push(resolve);
      });
    },
    end: () => {
      close(undefined);
    },
    fail: close,
    abort: (error) => {
      waiting.length = 0;
      close(error);
    },
  };
}
