/** `String.fromCharCode` takes its characters as arguments, of which engines bear some ten thousand. */
const PIECE = 0x2000;

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PIECE) {
    text += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  }
  return btoa(text);
}
