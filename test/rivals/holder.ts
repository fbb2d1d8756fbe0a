import { closeSync, constants, openSync, writeFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import koffi from "koffi";

/**
 * A program that holds on to something in a sandbox: `holder.ts HOW PATH`. It says "ready", and for each line
 * that it is told it writes that line where it holds on, and says what came of it.
 * - `descriptor`: an open file, written to at its start
 * - `mapping`: a shared mapping of a file, whose descriptor is closed
 * - `folder`: its current folder, in which it makes a file called late.txt
 */
const PAGE = 4096;
const [how = "", path = ""] = process.argv.slice(2);
const write = hold();
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) console.log(attempt(line));

function hold(): (text: string) => void {
  if (how === "folder") {
    process.chdir(path);
    return (text) => writeFileSync("late.txt", text);
  }
  const fd = openSync(path, constants.O_RDWR);
  if (how === "descriptor") return (text) => void writeSync(fd, text, 0);
  const libc = koffi.load("libc.so.6");
  const mmap = libc.func(
    "void *mmap(void *address, size_t length, int protection, int flags, int fd, int64_t offset)",
  );
  const memcpy = libc.func("void *memcpy(void *to, const void *from, size_t length)");
  const address: unknown = mmap(null, PAGE, 3, 1, fd, 0);
  closeSync(fd);
  return (text) => memcpy(address, Buffer.from(text), text.length);
}

function attempt(text: string): string {
  try {
    write(text);
    return "written";
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown);
  }
}
