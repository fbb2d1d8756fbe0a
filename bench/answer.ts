import { median, middleHalf, type Times } from "./measure.ts";

/** One line of the table: what was compared, and whether the goal was reached. */
export interface Row {
  readonly what: string;
  readonly ours: string;
  readonly peer: string;
  readonly ratio: string;
  readonly goal: string;
  readonly verdict: "ok" | "MISSED" | "";
  /** What ours does beyond the peer: why the goal is missed, where it is. */
  readonly beyond?: string;
}

/**
 * - `atMost`: ours takes at most so many times as long as the peer, which is the floor: what nothing that
 *   keeps the same promise can do without.
 * - `underMs`: ours takes at most so many milliseconds, whatever the peer takes.
 * - `floor`: no goal. It says how much faster than the peer the floor is, because ours can't be faster than
 *   that.
 */
export type Goal =
  | ({ readonly atMost: number } & Reason)
  | ({ readonly underMs: number } & Reason)
  | { readonly floor: Times }
  | undefined;

interface Reason {
  /** What ours does beyond the peer: said where the goal is missed. */
  readonly beyond: string;
}

/** Compares the medians. */
export function compare(what: string, ours: Times, peerName: string, peer: Times, goal: Goal): Row {
  const line = { what, ours: shown(ours), peer: `${peerName} ${shown(peer)}`, verdict: "" } as const;
  const slower = `${(median(ours) / median(peer)).toFixed(2)}×`;
  const faster = (times: Times) => `${(median(peer) / median(times)).toFixed(1)}×`;
  if (goal === undefined) return { ...line, ratio: slower, goal: "" };
  if ("floor" in goal)
    return { ...line, ratio: `${faster(ours)} faster`, goal: `the floor: ${faster(goal.floor)}` };
  const { beyond } = goal;
  if ("atMost" in goal) {
    const reached = median(ours) <= goal.atMost * median(peer);
    return { ...line, ratio: slower, goal: `≤ ${goal.atMost}×`, verdict: verdict(reached), beyond };
  }
  const reached = median(ours) <= goal.underMs;
  const ratio = median(ours) < median(peer) ? `${faster(ours)} faster` : "";
  return { ...line, ratio, goal: `≤ ${goal.underMs} ms`, verdict: verdict(reached), beyond };
}

function verdict(reached: boolean): "ok" | "MISSED" {
  return reached ? "ok" : "MISSED";
}

/** The median, and between what half of the runs were. */
function shown(times: Times): string {
  const [from, to] = middleHalf(times);
  return `${digits(median(times))} ms (${digits(from)}–${digits(to)})`;
}

function digits(value: number): string {
  return value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
}

const HEAD: Row = { what: "what", ours: "ours", peer: "peer", ratio: "ratio", goal: "goal", verdict: "" };
const COLUMNS = ["what", "ours", "peer", "ratio", "goal", "verdict"] as const;

/** The table as text. */
export function tableOf(rows: readonly Row[]): string {
  const widths = COLUMNS.map((column) => Math.max(...[HEAD, ...rows].map((row) => row[column].length)));
  return [HEAD, ...rows]
    .map((row) =>
      COLUMNS.map((column, at) => row[column].padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** For each goal that is missed: what it is, what its floor took, and what ours does beyond that. */
export function missedLines(rows: readonly Row[]): string {
  const names = rows.map(({ what }, at) =>
    what.startsWith(" ")
      ? `${rows.slice(0, at).findLast((row) => !row.what.startsWith(" "))?.what}: ${what.trim()}`
      : what,
  );
  return rows
    .flatMap(({ verdict, goal, ours, ratio, peer, beyond = "nothing that is known: look for it" }, at) =>
      verdict === "MISSED"
        ? [
            `\nMISSED ${names[at]}: ${goal}, and it is ${ratio || ours} against ${peer}. Beyond that: ${beyond}.`,
          ]
        : [],
    )
    .join("");
}

/**
 * Ends a program that answers one question: prints its rows, for people or (`--rows`) for run.ts, and says if
 * a goal was missed.
 */
export function answer(rows: readonly Row[]): void {
  console.log(
    process.argv.includes("--rows") ? JSON.stringify(rows) : `${tableOf(rows)}${missedLines(rows)}`,
  );
  if (rows.some((row) => row.verdict === "MISSED")) process.exitCode = 1;
}
