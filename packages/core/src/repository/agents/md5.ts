/** MD5 (RFC 1321) of bytes that come in pieces. It proves that a file arrived whole, not who made it. */
export interface Md5 {
  /** `bytes` are read before it returns and not kept. */
  update(bytes: Uint8Array): void;
  /** Lower-case hexadecimal. Nothing may be added afterwards. */
  hex(): string;
}

const BLOCK_SIZE = 64;
const ROUND_SHIFTS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const;

interface Step {
  readonly constant: number;
  readonly shift: number;
  /** Which word of the block it takes. */
  readonly word: number;
}

const STEPS: readonly Step[] = Array.from({ length: 64 }, (_, i): Step => {
  const round = i >> 4;
  return {
    constant: Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0,
    shift: ROUND_SHIFTS[round]?.[i & 3] ?? 0,
    word: [i, 5 * i + 1, 3 * i + 5, 7 * i][round] ?? 0,
  };
}).map((step) => ({ ...step, word: step.word & 15 }));

export function createMd5(): Md5 {
  const state = Uint32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476);
  const block = new Uint8Array(BLOCK_SIZE);
  const words = new DataView(block.buffer);
  let filled = 0;
  let byteLength = 0;

  function update(bytes: Uint8Array): void {
    byteLength += bytes.byteLength;
    for (let offset = 0; offset < bytes.byteLength;) {
      const part = bytes.subarray(offset, offset + BLOCK_SIZE - filled);
      block.set(part, filled);
      filled += part.byteLength;
      offset += part.byteLength;
      if (filled < BLOCK_SIZE) return;
      addBlock(state, words);
      filled = 0;
    }
  }

  return {
    update,
    hex: () => {
      const bitLength = BigInt(byteLength) * 8n;
      update(Uint8Array.of(0x80));
      update(new Uint8Array((BLOCK_SIZE + BLOCK_SIZE - 8 - filled) % BLOCK_SIZE));
      words.setBigUint64(BLOCK_SIZE - 8, bitLength, true);
      addBlock(state, words);
      const digest = new DataView(new ArrayBuffer(16));
      state.forEach((word, i) => {
        digest.setUint32(4 * i, word, true);
      });
      return Array.from(new Uint8Array(digest.buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
    },
  };
}

function addBlock(state: Uint32Array, words: DataView): void {
  let [a = 0, b = 0, c = 0, d = 0] = state;
  for (const [i, { constant, shift, word }] of STEPS.entries()) {
    const sum = (a + mix(i >> 4, b, c, d) + constant + words.getUint32(4 * word, true)) | 0;
    [a, d, c] = [d, c, b];
    b = (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0;
  }
  [a, b, c, d].forEach((part, i) => {
    state[i] = (state[i] ?? 0) + part;
  });
}

function mix(round: number, b: number, c: number, d: number): number {
  if (round === 0) return (b & c) | (~b & d);
  if (round === 1) return (b & d) | (c & ~d);
  return round === 2 ? b ^ c ^ d : c ^ (b | ~d);
}
