import type { Channel, EmptyContract, Endpoint, LockManagerLike } from "@naiad/link";
import { createChannel } from "@naiad/link";
import { InferenceError } from "@naiad/protocol";

/** What a thread asks the one that keeps the locks. */
interface LockContract extends EmptyContract {
  readonly calls: {
    /** Answered when the lock is granted, or at once where it is not free and nobody is to wait. */
    readonly request: {
      readonly input: {
        /** The thread's own, for `release`. */
        readonly id: number;
        readonly name: string;
        readonly mode: "exclusive" | "shared";
        readonly ifAvailable: boolean;
      };
      readonly output: { readonly granted: boolean };
    };
    readonly query: {
      readonly input: Record<never, never>;
      readonly output: { readonly held: readonly string[] };
    };
  };
  readonly notes: {
    /** The lock is not needed any more, granted or not. */
    readonly release: { readonly id: number };
  };
}

const NOTHING = { calls: {}, streams: {}, notes: {} };

/** In a thread: the locks that `serveLocks` keeps at the other end. */
export function connectLocks(port: Endpoint): LockManagerLike {
  const keeper: Channel<LockContract> = createChannel<LockContract, EmptyContract>(port, NOTHING, {
    peer: "the keeper of locks",
  });
  let lastId = 0;
  return {
    async request(name, { mode = "exclusive", ifAvailable = false, signal }, granted) {
      lastId += 1;
      const id = lastId;
      try {
        const answer = await keeper.call(
          "request",
          { id, name, mode, ifAvailable },
          signal === undefined ? {} : { signal },
        );
        await granted(answer.granted ? { name, mode } : null);
      } finally {
        keeper.notify("release", { id });
      }
    },
    async query() {
      const { held } = await keeper.call("query", {});
      return { held: held.map((name) => ({ name })) };
    },
  };
}

/** Serves `locks` to the thread at the other end of `port`. The result lets go what it holds or waits for: it has ended. */
export function serveLocks(port: Endpoint, locks: LockManagerLike): () => void {
  const releases = new Map<number, () => void>();
  const release = (id: number): void => {
    releases.get(id)?.();
    releases.delete(id);
  };
  const channel = createChannel<EmptyContract, LockContract>(
    port,
    {
      calls: {
        request: ({ id, name, mode, ifAvailable }) =>
          new Promise((resolve, reject) => {
            const gaveUp = new AbortController();
            releases.set(id, () => {
              gaveUp.abort();
            });
            const untilReleased = (lock: unknown): Promise<void> => {
              resolve({ value: { granted: lock !== null } });
              if (lock === null || gaveUp.signal.aborted) return Promise.resolve();
              return new Promise((letGo) => {
                releases.set(id, letGo);
              });
            };
            // The platform takes only one of the two.
            const wait = ifAvailable ? { ifAvailable } : { signal: gaveUp.signal };
            locks.request(name, { mode, ...wait }, untilReleased).catch(reject);
          }),
        query: async () => {
          const { held = [] } = await locks.query();
          return { value: { held: held.flatMap(({ name }) => (name === undefined ? [] : [name])) } };
        },
      },
      streams: {},
      notes: {
        release: ({ id }) => {
          release(id);
        },
      },
    },
    { peer: "a thread" },
  );
  return () => {
    for (const id of [...releases.keys()]) release(id);
    channel.close(new InferenceError("UNAVAILABLE", "the thread has ended"));
  };
}
