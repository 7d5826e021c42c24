/** Tokens that stand for no text, in the order of their numbers: unknown, begin, end. */
const SPECIAL = 3;
const BEGIN = 1;

/**
 * @typedef {object} Vocabulary
 * @property {readonly Uint8Array[]} pieces What each token stands for; nothing for the special ones.
 * @property {ReadonlyMap<string, number>} tokens By their text, the special ones and single bytes left out.
 * @property {readonly number[]} scores Which pair of tokens becomes one first: the higher, the earlier.
 */

/**
 * The file of a SentencePiece vocabulary as llama2.c writes it, little-endian: INT32 length of the longest piece, and of each token
 * FP32 score, INT32 length and the piece. Tokens 3 to 258 are the 256 bytes (`<0x41>`).
 *
 * @param {Uint8Array} file
 * @returns {Vocabulary}
 */
export function readVocabulary(file) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const pieces = [];
  const scores = [];
  const tokens = new Map();
  const utf8 = new TextDecoder();
  for (let at = 4; at < file.length;) {
    const length = view.getInt32(at + 4, true);
    const token = pieces.length;
    const piece = file.slice(at + 8, at + 8 + length);
    const text = utf8.decode(piece);
    const [, byte] = /^<0x([\dA-F]{2})>$/.exec(text) ?? [];
    if (token < SPECIAL) pieces.push(new Uint8Array(0));
    else if (byte !== undefined) pieces.push(Uint8Array.of(Number.parseInt(byte, 16)));
    else {
      pieces.push(piece);
      // Of equal texts the first counts.
      if (!tokens.has(text)) tokens.set(text, token);
    }
    scores.push(view.getFloat32(at, true));
    at += 8 + length;
  }
  return { pieces, scores, tokens };
}

/**
 * The tokens of a text behind the one that begins it. A text is read as if a space stood in front of it, so that its first word
 * is the same token as inside of a sentence. Characters that are no tokens become their bytes; then the pair with the
 * best score becomes one token, again and again.
 *
 * @param {string} text
 * @param {Vocabulary} vocabulary
 * @returns {number[]}
 */
export function encodeText(text, { tokens, scores }) {
  if (text === "") return [BEGIN];
  const parts = [...` ${text}`].flatMap((character) => partsOf(character, tokens));
  for (;;) {
    let best = { score: -Infinity, index: -1, token: 0, text: "" };
    for (let index = 0; index + 1 < parts.length; index += 1) {
      const [left, right] = [parts[index]?.text, parts[index + 1]?.text];
      if (left === undefined || right === undefined) continue;
      const token = tokens.get(left + right);
      const score = token === undefined ? -Infinity : (scores[token] ?? -Infinity);
      if (token !== undefined && score > best.score) best = { score, index, token, text: left + right };
    }
    if (best.index < 0) return [BEGIN, ...parts.map(({ token }) => token)];
    parts.splice(best.index, 2, { token: best.token, text: best.text });
  }
}

/**
 * @param {string} character
 * @param {Vocabulary["tokens"]} tokens
 * @returns {{ readonly token: number, readonly text: string | undefined }[]}
 */
function partsOf(character, tokens) {
  const token = tokens.get(character);
  if (token !== undefined) return [{ token, text: character }];
  return [...new TextEncoder().encode(character)].map((byte) => ({ token: SPECIAL + byte, text: undefined }));
}
