import { spawnSync } from "node:child_process";

/** One side of a comparison. Only `run` is measured. */
export interface Side {
  /** Makes what a run needs, each time anew. */
  readonly before?: () => void | Promise<void>;
  readonly run: () => void | Promise<void>;
  /** Removes what a run left. */
  readonly after?: () => void | Promise<void>;
}

/** Milliseconds of all runs of one side, in order of length. */
export type Times = readonly number[];

/**
 * Runs the sides in turn, round after round, so that what else the machine does meets all of them alike. A
 * first round is not counted: it fills the caches. `before` leaves dirty pages only if it means to:
 * everything older is on disk when it begins.
 */
export async function alternate<Name extends string>(
  rounds: number,
  sides: { readonly [name in Name]: Side },
): Promise<{ readonly [name in Name]: Times }> {
  const names = Object.keys(sides) as Name[];
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as {
    [name in Name]: number[];
  };
  for (let round = -1; round < rounds; round += 1) {
    for (const name of names) {
      const took = await measured(sides[name]);
      if (round >= 0) times[name].push(took);
    }
  }
  for (const name of names) times[name].sort((a, b) => a - b);
  return times;
}

async function measured({ before, run, after }: Side): Promise<number> {
  flushEverything();
  await before?.();
  const start = performance.now();
  await run();
  const took = performance.now() - start;
  await after?.();
  return took;
}

/** Otherwise one side would pay for the dirty pages of the other. */
function flushEverything(): void {
  runProgram("sync");
}

/** Brings everything that was written to the file system of this path to the disk. */
export function flushPlace(path: string): void {
  runProgram("sync", "-f", path);
}

export function median(sorted: Times): number {
  return quantile(sorted, 0.5);
}

/** Half of the runs were between these two. */
export function middleHalf(sorted: Times): readonly [from: number, to: number] {
  return [quantile(sorted, 0.25), quantile(sorted, 0.75)];
}

function quantile(sorted: Times, share: number): number {
  const at = (sorted.length - 1) * share;
  const [below = 0, above = 0] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below + (above - below) * (at - Math.floor(at));
}

/** Runs a program to its end; its output is of no interest unless it fails. */
export function runProgram(program: string, ...args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, {
    stdio: ["ignore", "ignore", "pipe"],
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} failed: ${error?.message ?? stderr}`);
}
