/** Messages that a client sends one by one, whenever a test says so. */
export interface MessageQueue<Message> extends AsyncIterable<Message> {
  send(message: Message): void;
  end(): void;
}

export function messageQueue<Message>(...messages: readonly Message[]): MessageQueue<Message> {
  const waiting: Message[] = [...messages];
  let hasEnded = false;
  let wake = (): void => undefined;
  return {
    send: (message) => {
      waiting.push(message);
      wake();
    },
    end: () => {
      hasEnded = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        const message = waiting.shift();
        if (message !== undefined) yield message;
        else if (hasEnded) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    },
  };
}
