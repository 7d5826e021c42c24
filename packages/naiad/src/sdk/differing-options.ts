/** Names of the options in which two servers differ, for example `server.id`. */
export function differingOptions(left: object, right: object, prefix = ""): string[] {
  const a = new Map<string, unknown>(Object.entries(left));
  const b = new Map<string, unknown>(Object.entries(right));
  return [...new Set([...a.keys(), ...b.keys()])].sort().flatMap((key) => {
    const [one, other] = [a.get(key), b.get(key)];
    if (isRecord(one) && isRecord(other)) return differingOptions(one, other, `${prefix}${key}.`);
    return JSON.stringify(one) === JSON.stringify(other) ? [] : [`${prefix}${key}`];
  });
}

function isRecord(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
