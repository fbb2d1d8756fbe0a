/**
 * The SHA-256 of some bytes, or of a short text as UTF-8, in hex: the same as that of digest.ts, but without
 * node:crypto, which takes 5 ms to load. Until a command is up there are only some paths to hash.
 */
export function shortDigest(content: string | Uint8Array): string {
  const state = Uint32Array.from(INITIAL);
  const words = paddedWords(typeof content === "string" ? Buffer.from(content) : content);
  for (let start = 0; start < words.length; start += 16) addBlock(state, words, start);
  return [...state].map((word) => word.toString(16).padStart(8, "0")).join("");
}

const [INITIAL, ROUNDS] = constants();

/** The first 32 bits behind the point of roots of the first primes: square roots of 8, cube roots of 64. */
function constants(): readonly [readonly number[], readonly number[]] {
  const primes: number[] = [];
  for (let number = 2; primes.length < 64; number += 1)
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  const behindPoint = (root: number) => Math.floor((root % 1) * 2 ** 32);
  return [
    primes.slice(0, 8).map((prime) => behindPoint(Math.sqrt(prime))),
    primes.map((prime) => behindPoint(Math.cbrt(prime))),
  ];
}

/** The bytes, a bit that ends them, zeros, and their number in bits: whole blocks of 16 words. */
function paddedWords(bytes: Uint8Array): Uint32Array {
  const padded = Buffer.alloc(Math.ceil((bytes.length + 9) / 64) * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  padded.writeUInt32BE(bytes.length * 8, padded.length - 4);
  const words = new Uint32Array(padded.length / 4);
  for (let at = 0; at < words.length; at += 1) words[at] = padded.readUInt32BE(at * 4);
  return words;
}

/**
 * One block, as FIPS 180-4 has it in 6.2.2. The names are those of the standard. Plain steps, because short
 * commands end before V8 has optimized anything: with arrays that are taken apart this takes ten times as
 * long.
 */
function addBlock(state: Uint32Array, words: Uint32Array, start: number): void {
  const w = new Int32Array(64);
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let t = 0; t < 64; t += 1) {
    if (t < 16) w[t] = words[start + t] as number;
    else {
      const w15 = w[t - 15] as number;
      const w2 = w[t - 2] as number;
      const sigma0 = turned(w15, 7) ^ turned(w15, 18) ^ (w15 >>> 3);
      const sigma1 = turned(w2, 17) ^ turned(w2, 19) ^ (w2 >>> 10);
      w[t] = sigma1 + (w[t - 7] as number) + sigma0 + (w[t - 16] as number);
    }
    const sum1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25);
    const t1 = h + sum1 + ((e & f) ^ (~e & g)) + (ROUNDS[t] as number) + (w[t] as number);
    const sum0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22);
    const t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries())
    state[index] = (state[index] as number) + word;
}

/** The bits of a word, turned to the right. */
function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}
