/** UTF-8 bytes of the first `end` UTF-16 units. */
export function utf8Length(text: string, end: number): number {
  let bytes = 0;
  for (let index = 0; index < Math.min(end, text.length); index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    // The two units of a surrogate pair are four bytes together.
    else bytes += unit >= 0xd800 && unit <= 0xdfff ? 2 : 3;
  }
  return bytes;
}

const LENIENT_UTF8 = new TextDecoder();

/** Offset of the first byte that breaks UTF-8 in text that is known to be broken. */
export function firstInvalidUtf8(bytes: Uint8Array): number {
  const text = LENIENT_UTF8.decode(bytes);
  const start = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
  // The decoder puts U+FFFD where it finds nonsense; the same character may also stand there by right.
  let index = text.indexOf("\ufffd");
  for (; index !== -1; index = text.indexOf("\ufffd", index + 1)) {
    const offset = start + utf8Length(text, index);
    const isGenuine = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd;
    if (!isGenuine) return offset;
  }
  return bytes.length;
}
