/**
 * The model's name in a path. Triton takes the raw text, so that a client which quotes a name does not find its model;
 * here it is percent-decoded, and stays raw where it is no valid encoding.
 */
export function readModelName(raw: string): string {
  if (!raw.includes("%")) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}
