import { ulid } from "ulid";
import { randomBytes } from "../random-bytes.ts";

/** A pool of random bytes: asking for those of each identifier separately takes most of the time. */
const POOL_BYTES = 1024;
let pool: Buffer = Buffer.alloc(0);
let used = 0;

/** A new identifier (ULID): unpredictable, and ordered by time. */
export function newId(): string {
  return ulid(undefined, randomFraction);
}

function randomFraction(): number {
  if (used === pool.length) {
    pool = randomBytes(POOL_BYTES);
    used = 0;
  }
  used += 1;
  return (pool[used - 1] ?? 0) / 256;
}
