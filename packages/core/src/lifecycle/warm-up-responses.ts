import type { ExecuteContext, InstanceOutcome, ModelInstance } from "../ports.ts";

/** What decoupled requests of a warm-up are answered with. */
export interface WarmUpResponses {
  readonly context: ExecuteContext;
  /**
   * Resolves when all requests whose outcome is `decoupled` have ended, with the errors that they were given, or when the
   * instance is lost or `signal` fires.
   */
  failures(outcomes: readonly InstanceOutcome[]): Promise<readonly string[]>;
}

export function collectWarmUpResponses(
  instance: ModelInstance,
  requestCount: number,
  signal: AbortSignal,
): WarmUpResponses {
  const open = new Set(Array.from({ length: requestCount }, (_, index) => index));
  const errors: string[] = [];
  let onChange = (): void => undefined;

  const end = (index: number, error?: string): void => {
    if (!open.delete(index)) return;
    if (error !== undefined) errors.push(error);
    onChange();
  };

  return {
    context: {
      signals: Array.from({ length: requestCount }, () => signal),
      responses: {
        response: (index, response, { final } = {}) => {
          if (open.has(index) && response.kind === "error") errors.push(response.error.message);
          if (final === true) end(index);
          return Promise.resolve();
        },
        end: (index, error) => {
          end(index, error?.message);
        },
      },
    },
    failures(outcomes) {
      for (const [index, outcome] of outcomes.entries()) if (outcome.kind !== "decoupled") open.delete(index);
      if (open.size === 0) return Promise.resolve(errors);
      return new Promise((resolve) => {
        const settle = (): void => {
          resolve(errors);
        };
        onChange = () => {
          if (open.size === 0) settle();
        };
        signal.addEventListener("abort", settle, { once: true });
        void instance.lost.then((reason) => {
          if (open.size > 0) errors.push(`the instance was lost: ${reason}`);
          settle();
        });
      });
    },
  };
}
