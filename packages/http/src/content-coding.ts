export type ContentCoding = "identity" | "gzip" | "deflate";

/**
 * How a response is to be packed that answers this Accept-Encoding, as Triton chooses: the coding of the highest weight,
 * the first of several with the same; `identity` where none of them is wanted. `*` is no coding that Triton knows.
 */
export function chooseCoding(acceptEncoding: string | undefined): ContentCoding {
  let chosen: ContentCoding = "identity";
  let best = 0;
  for (const entry of (acceptEncoding ?? "").split(",")) {
    const { name = "", weight } = ENTRY.exec(entry)?.groups ?? {};
    if (!isCoding(name)) continue;
    const value = weight === undefined ? 1 : Number.parseFloat(weight);
    if (value > best) {
      chosen = name;
      best = value;
    }
  }
  return chosen;
}

const ENTRY = /^ *(?<name>[^;]*)(?:;q=(?<weight>.*))?$/s;

function isCoding(name: string): name is ContentCoding {
  return name === "identity" || name === "gzip" || name === "deflate";
}
