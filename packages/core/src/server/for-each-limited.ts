/** Runs `task` for every item, at most `limit` at once. Resolves when all have ended; rejects with the first rejection, then. */
export async function forEachLimited<Item>(
  items: readonly Item[],
  limit: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = [...items];
  const errors: unknown[] = [];
  const lanes = Array.from({ length: Math.min(limit, items.length) }, async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) {
      try {
        await task(item);
      } catch (thrown) {
        errors.push(thrown);
      }
    }
  });
  await Promise.all(lanes);
  if (errors.length > 0) throw errors[0];
}
