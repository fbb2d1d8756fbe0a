import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Stage } from "../run/stage.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { assertSameTree, snapshotTree, type TreeSnapshot } from "../support/tree-snapshot.ts";

/**
 * Does work twice, at the same paths: directly, in a copy of the project; then in the project itself, inside
 * `drydock run --apply`. Both trees have to be equal in everything that a snapshot tells apart, with one
 * exception: where a tool leaves the time of the clock, so that both can't be equal, it has to be a time of
 * the work in both. What landed has also to be just as the work left it inside, times to the nanosecond; and
 * an undo has to bring back everything as it was.
 */
export interface Work {
  /** A script of sh; it ends at the first command that fails. */
  readonly script: string;
  readonly env?: NodeJS.ProcessEnv;
  /**
   * Files whose content can't be equal because it holds inode numbers and times; all else of them is
   * compared.
   */
  readonly unequal?: RegExp;
}

const LISTING = "---- left inside ----";
/** Everything that `find` can tell; a folder's size is the file system's own. */
const LIST = `LC_ALL=C find . -type f -printf '%P f %m %U:%G %T@ %s\\n' -o -printf '%P %y %m %U:%G %T@ %l\\n' | LC_ALL=C sort`;
/** Longer than a tick of the clock that files get their times from. */
const TICK_MS = 20;
/** Tools may write more to a home than caches; that is not compared here. */
const APPLY = ["run", "--apply", "--ignore-outside", "--allow", "."];

export function assertSameWork(stage: Stage, { script, env = {}, unequal = /(?!)/ }: Work): void {
  const before = snapshotTree(stage.project);
  const direct = doneDirectly(stage, script, env, unequal);
  const home = snapshotTree(stage.home);
  const start = startTime(stage);
  const inside = `( ${script}\n) >&2\necho '${LISTING}'\n${LIST}`;
  const ran = stage.drydock([...APPLY, "--", "sh", "-ec", inside], { env });
  assert.equal(ran.status, 0, ran.stderr);
  assert.match(ran.stderr, / overlay\n/);
  const [, leftInside = ""] = ran.stdout.split(`${LISTING}\n`);
  assertSameLines(stage.run("sh", ["-ec", LIST]).stdout, leftInside);
  assertSameTree(
    comparable(snapshotTree(stage.project), start, unequal),
    direct,
    `not as done directly by\n${script}`,
  );
  assertSameTree(snapshotTree(stage.home), home, "the home changed");
  undo(stage);
  assertSameTree(snapshotTree(stage.project), before, "not undone");
}

function assertSameLines(landed: string, leftInside: string): void {
  const [is, should] = [new Set(landed.split("\n")), new Set(leftInside.split("\n"))];
  const differences = [
    ...[...is.difference(should)].map((line) => `is     ${line}`),
    ...[...should.difference(is)].map((line) => `should ${line}`),
  ];
  assert.deepEqual(differences.toSorted().slice(0, 40), [], "what landed is not what was inside");
}

/** Works in a copy, in the place of the project; nothing of it is left but the picture. */
function doneDirectly(stage: Stage, script: string, env: NodeJS.ProcessEnv, unequal: RegExp): TreeSnapshot {
  const kept = join(stage.path, "kept");
  mkdirSync(kept);
  const places = [stage.project, stage.home];
  for (const [at, place] of places.entries()) {
    renameSync(place, join(kept, String(at)));
    execFileSync("cp", ["-a", join(kept, String(at)), place]);
  }
  const start = startTime(stage);
  const { status, stderr } = stage.run("sh", ["-ec", script], { env });
  assert.equal(status, 0, stderr);
  const snapshot = comparable(snapshotTree(stage.project), start, unequal);
  for (const [at, place] of places.entries()) {
    removeFolder(place);
    renameSync(join(kept, String(at)), place);
  }
  removeFolder(kept);
  return snapshot;
}

/** The same picture with "work" for every time since the start. */
function comparable(snapshot: TreeSnapshot, start: bigint, unequal: RegExp): TreeSnapshot {
  const lines = [...snapshot].map(([path, line]): [string, string] => {
    const timed = line.replace(/mtime=(-?\d+)/, (whole, time) =>
      BigInt(time) < start ? whole : "mtime=work",
    );
    return [path, unequal.test(path) ? timed.replace(/ sha256=\w+/, "") : timed];
  });
  return new Map(lines);
}

function undo(stage: Stage): void {
  const { plans } = stage.answer("plan", "list", "--all");
  const applied = plans.find(({ state }: { readonly state: string }) => state === "applied");
  stage.done("plan", "undo", applied.id);
}

/** A time after that of every file there is, and not after that of any that comes. */
function startTime(stage: Stage): bigint {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TICK_MS);
  return statSync(stage.write("clock", ""), { bigint: true }).mtimeNs;
}
