import { spawnSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";
import { join } from "node:path";
import { missedLines, type Row, tableOf } from "./answer.ts";

/**
 * `npm run bench`: asks every question, each in a program of its own, and prints one table. Exits with 1 if a
 * goal was missed or a program failed. `--quick` leaves out what takes long and has no goal; names of
 * programs (`apply`, `copy` …) ask only those.
 */
const QUESTIONS = [
  "apply",
  "large",
  "overlay",
  "checkpoint",
  "snapshot",
  "git",
  "merge",
  "databases",
  "inside",
  "strategy",
  "copy",
  "walk-diff",
  "start-up",
  "many-plans",
  "fleet",
  "serve",
  "memory",
] as const;
const WITHOUT_GOAL: readonly string[] = ["memory"];

const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const isQuick = process.argv.includes("--quick");
const unknown = named.filter((name) => !QUESTIONS.some((question) => question === name));
if (unknown.length > 0)
  throw new Error(`There is no question ${unknown.join(", ")}, only ${QUESTIONS.join(", ")}.`);

const rows: Row[] = [];
const failed: string[] = [];
for (const question of QUESTIONS) {
  if (named.length > 0 ? !named.includes(question) : isQuick && WITHOUT_GOAL.includes(question)) continue;
  console.error(`measuring: ${question} …`);
  const program = join(import.meta.dirname, `${question}.ts`);
  const { status, stdout } = spawnSync(process.execPath, [program, "--rows"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  // A program that missed a goal ends with 1, as one that failed does; but only the former has an answer.
  if (status === null || !stdout.startsWith("[")) failed.push(question);
  else rows.push(...(JSON.parse(stdout) as Row[]));
}

console.log(`${tableOf(rows)}${missedLines(rows)}`);
for (const question of failed) console.log(`FAILED: ${question} gave no answer, see above.`);
const [load = 0] = loadavg();
if (load > availableParallelism()) {
  console.log(
    `The machine was busy with other things (load ${load.toFixed(1)}): what is bound by the processor looks slower than it is.`,
  );
}
const missed = rows.filter(({ verdict }) => verdict === "MISSED").length;
if (missed > 0) console.log(`${missed} ${missed === 1 ? "goal was" : "goals were"} missed.`);
if (missed > 0 || failed.length > 0) process.exitCode = 1;
