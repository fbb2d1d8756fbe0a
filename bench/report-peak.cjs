/*
 * Loaded into a process that is measured (see large.ts): when it ends, it leaves its largest resident set, in
 * MB, in the file that is named. No TypeScript: what strips the types would take twenty megabytes of the
 * measured process.
 */
const file = process.env["DRYDOCK_BENCH_PEAK"];
if (file !== undefined)
  process.on("exit", () => {
    const { readFileSync, writeFileSync } = require("node:fs");
    const kib = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "latin1"))?.[1]);
    writeFileSync(file, String(kib / 1024));
  });
