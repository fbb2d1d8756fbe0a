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

/** The first 32 bits behind the point of the square roots of the first 8 primes: FIPS 180-4, 5.3.3. */
// biome-ignore format: a table
const INITIAL: readonly number[] = [
  0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
];

/** The same of the cube roots of the first 64 primes (4.2.2): to find them would take a millisecond. */
// biome-ignore format: a table
const ROUNDS: readonly number[] = [
  0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
  0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
  0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
  0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
  0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
  0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
  0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
  0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

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
