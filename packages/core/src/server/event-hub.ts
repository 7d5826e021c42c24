import type { ServerEvent } from "@naiad/protocol";

export type EventListener = (event: ServerEvent) => void;

/** Hands each event to everybody who listens at that moment. */
export interface EventHub {
  emit(event: ServerEvent): void;
  /** Returns the way to stop listening. */
  subscribe(listener: EventListener): () => void;
}

export function createEventHub(): EventHub {
  const listeners = new Set<{ readonly listener: EventListener }>();
  return {
    emit: (event) => {
      for (const { listener } of [...listeners]) listener(event);
    },
    subscribe: (listener) => {
      const subscription = { listener };
      listeners.add(subscription);
      return () => {
        listeners.delete(subscription);
      };
    },
  };
}
