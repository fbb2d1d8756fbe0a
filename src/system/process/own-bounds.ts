import { check, lazyCalls } from "../calls/native.ts";

const bounds = lazyCalls({
  setrlimit: "int setrlimit(int resource, const void *limit)",
  alarm: "uint32_t alarm(uint32_t seconds)",
});
const RLIMIT_DATA = 2;

/** The most that this process can allocate. Beyond it an allocation fails, and mostly the process with it. */
export function boundMemory(bytes: number): void {
  const limit = Buffer.alloc(16);
  limit.writeBigUInt64LE(BigInt(bytes), 0);
  limit.writeBigUInt64LE(BigInt(bytes), 8);
  check(bounds.setrlimit(RLIMIT_DATA, limit), "setrlimit", "this process");
}

/** Ends this process after so many seconds, whatever it does then; 0 takes that back. */
export function alarm(seconds: number): void {
  bounds.alarm(seconds);
}
