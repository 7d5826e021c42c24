const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Value of each character code below 128; 255 for characters outside of the alphabet. */
const VALUES: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const value = ALPHABET.indexOf(String.fromCharCode(code));
  return value === -1 ? 255 : value;
});

/** Decodes base64 as leniently as Triton: characters outside of the alphabet, padding among them, are skipped. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4));
  let length = 0;
  let bits = 0;
  let bitCount = 0;
  for (let index = 0; index < text.length; index++) {
    const value = VALUES[text.charCodeAt(index)] ?? 255;
    if (value === 255) continue;
    bits = ((bits << 6) | value) & 0xffff;
    bitCount += 6;
    if (bitCount >= 8) {
      bitCount -= 8;
      bytes[length++] = bits >>> bitCount;
    }
  }
  return bytes.slice(0, length);
}
