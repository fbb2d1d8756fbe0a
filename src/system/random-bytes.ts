import { check, lazyCalls } from "./calls/native.ts";

const calls = lazyCalls({ getrandom: "long getrandom(void *buffer, size_t size, unsigned int flags)" });

/** No signal interrupts the kernel before it has given so many. */
const AT_ONCE = 256;

/** Unpredictable bytes of the kernel. node:crypto has such too, but takes 5 ms to load. */
export function randomBytes(count: number): Buffer {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count; at += AT_ONCE) {
    const part = bytes.subarray(at, at + AT_ONCE);
    check(calls.getrandom(part, part.length, 0), "getrandom", "");
  }
  return bytes;
}
