import { readSync, writeSync } from "node:fs";
import { check } from "../calls/native.ts";
import { launchCalls } from "./calls.ts";

const LINE_END = 10;
const CHUNK = 1 << 16;

/** Makes `to` a duplicate of `from`. */
export function redirect(from: number, to: number): void {
  check(launchCalls.dup2(from, to), "dup2", `descriptor ${to}`);
}

/** Waits for a line from a descriptor; undefined if it ends first. */
export function readLine(fd: number): string | undefined {
  const parts: Buffer[] = [];
  for (;;) {
    const bytes = Buffer.alloc(CHUNK);
    const length = readSync(fd, bytes);
    if (length === 0) return undefined;
    parts.push(bytes.subarray(0, length));
    if (bytes[length - 1] === LINE_END) return Buffer.concat(parts).toString("utf8");
  }
}

export function writeLine(fd: number, line: string): void {
  writeSync(fd, `${line}\n`);
}
