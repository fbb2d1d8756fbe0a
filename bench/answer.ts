import { median, middleHalf, type Times } from "./measure.ts";

/** One line of the table: what was compared, and whether the goal was reached. */
export interface Row {
  readonly what: string;
  readonly ours: string;
  readonly peer: string;
  readonly ratio: string;
  readonly goal: string;
  readonly verdict: "ok" | "MISSED" | "";
}

/**
 * `atMost`: ours takes at most so many times as long as the peer. `fasterBy`: the peer takes at least so many
 * times as long as ours. `underMs`: ours takes at most so many milliseconds, whatever the peer takes.
 */
export type Goal =
  | { readonly atMost: number }
  | { readonly fasterBy: number }
  | { readonly underMs: number }
  | undefined;

/** Compares the medians. */
export function compare(what: string, ours: Times, peerName: string, peer: Times, goal: Goal): Row {
  const line = { what, ours: shown(ours), peer: `${peerName} ${shown(peer)}` };
  if (goal === undefined)
    return { ...line, ratio: `${(median(ours) / median(peer)).toFixed(2)}×`, goal: "", verdict: "" };
  if ("atMost" in goal) {
    const ratio = median(ours) / median(peer);
    return {
      ...line,
      ratio: `${ratio.toFixed(2)}×`,
      goal: `≤ ${goal.atMost}×`,
      verdict: verdict(ratio <= goal.atMost),
    };
  }
  const ratio = median(peer) / median(ours);
  if ("underMs" in goal) {
    const reached = median(ours) <= goal.underMs;
    return {
      ...line,
      ratio: `${ratio.toFixed(1)}× faster`,
      goal: `≤ ${goal.underMs} ms`,
      verdict: verdict(reached),
    };
  }
  return {
    ...line,
    ratio: `${ratio.toFixed(1)}× faster`,
    goal: `≥ ${goal.fasterBy}×`,
    verdict: verdict(ratio >= goal.fasterBy),
  };
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

/**
 * Ends a program that answers one question: prints its rows, for people or (`--rows`) for run.ts, and says if
 * a goal was missed.
 */
export function answer(rows: readonly Row[]): void {
  console.log(process.argv.includes("--rows") ? JSON.stringify(rows) : tableOf(rows));
  if (rows.some((row) => row.verdict === "MISSED")) process.exitCode = 1;
}
