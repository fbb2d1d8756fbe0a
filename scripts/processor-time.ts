import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded into each test process of a run: at its end it notes how much processor time the test file took,
 * with all processes that it started and waited for, and those that still run. On a busy machine this says
 * more than the time that passed.
 */
export const TIMES_FILE = "DRYDOCK_TEST_TIMES";

/** The unit of times in proc(5). */
const TICKS_PER_SECOND = 100;

const file = process.env[TIMES_FILE];
const [, program = ""] = process.argv;
if (file !== undefined && isMainThread && /\.test\.(?:ts|mjs)$/.test(program))
  process.once("exit", () => appendFileSync(file, `${secondsOf(process.pid).toFixed(1)} ${program}\n`));

function secondsOf(pid: number): number {
  try {
    // The name of the program, in parentheses, may hold anything.
    const [, text = ""] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
    const ticks = text.split(" ").slice(11, 15).map(Number);
    const own = ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND;
    return childrenOf(pid).reduce((sum, child) => sum + secondsOf(child), own);
  } catch {
    // It ended just now, and what it took is not for us to know.
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1").split(" ").filter(Boolean).map(Number),
  );
}
