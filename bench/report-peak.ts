import { readFileSync, writeFileSync } from "node:fs";

/**
 * Loaded into a process that is measured (see large.ts): when it ends, it leaves its largest resident set, in
 * MB, in the file that is named.
 */
const file = process.env["DRYDOCK_BENCH_PEAK"];
if (file !== undefined)
  process.on("exit", () => {
    const kib = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1]);
    writeFileSync(file, String(kib / 1024));
  });
