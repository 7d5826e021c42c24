/**
 * SHA-256 (FIPS 180-4) in plain code, for pages without a secure context: `crypto.subtle` does not exist there. About a
 * hundred times slower than the platform's.
 */
export function sha256(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const state = new Uint32Array(INITIAL_STATE);
  const schedule = new Uint32Array(64);
  const wholeBlocks = bytes.byteLength - (bytes.byteLength % 64);
  const input = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < wholeBlocks; at += 64) compress(state, schedule, input, at);

  const rest = bytes.subarray(wholeBlocks);
  const tail = new DataView(new ArrayBuffer(rest.byteLength < 56 ? 64 : 128));
  rest.forEach((byte, index) => {
    tail.setUint8(index, byte);
  });
  tail.setUint8(rest.byteLength, 0x80);
  tail.setBigUint64(tail.byteLength - 8, BigInt(bytes.byteLength) * 8n);
  for (let at = 0; at < tail.byteLength; at += 64) compress(state, schedule, tail, at);

  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((word, index) => {
    digest.setUint32(index * 4, word);
  });
  return new Uint8Array(digest.buffer);
}

function compress(state: Uint32Array, schedule: Uint32Array, block: DataView, start: number): void {
  const w = (index: number): number => schedule[index] ?? 0;
  for (let t = 0; t < 16; t++) schedule[t] = block.getUint32(start + t * 4);
  for (let t = 16; t < 64; t++) {
    const near = w(t - 2);
    const far = w(t - 15);
    const sigma1 = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10);
    const sigma0 = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3);
    schedule[t] = sigma1 + w(t - 7) + sigma0 + w(t - 16);
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let t = 0; t < 64; t++) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + sum1 + choice + (ROUND_CONSTANTS[t] ?? 0) + w(t)) | 0;
    const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    [a, b, c, d, e, f, g, h] = [(first + sum0 + majority) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  [a, b, c, d, e, f, g, h].forEach((word, index) => {
    state[index] = (state[index] ?? 0) + word;
  });
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** The first 32 bits of the fractional part of `root(p)` for each of the first `count` primes. */
function fractions(count: number, root: (prime: number) => number): readonly number[] {
  return firstPrimes(count).map((prime) => Math.floor((root(prime) % 1) * 2 ** 32));
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate++) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}

const INITIAL_STATE: readonly number[] = fractions(8, Math.sqrt);
const ROUND_CONSTANTS: readonly number[] = fractions(64, Math.cbrt);
