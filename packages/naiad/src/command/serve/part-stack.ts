/** Whatever has to be closed, the last one first; each is, whatever becomes of the others. */
export class PartStack {
  readonly #closes: (() => Promise<void>)[] = [];

  add(close: () => Promise<void>): void {
    this.#closes.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closes.splice(0).reverse()) await close().catch(() => undefined);
  }
}
