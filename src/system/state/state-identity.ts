import { type BigIntStats, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { StateError } from "../../core/errors/errors.ts";
import { bytesFromPath, displayPath } from "../../core/paths/byte-path.ts";
import { readTextFile } from "../data/text-files.ts";
import { writeWhole } from "../data/whole-file.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { whileLocked } from "./lock.ts";
import { openStateFolder } from "./state-folder.ts";

/**
 * `identity.json` in a state directory holds its path, and its inode and birth time. The records of a state
 * directory refer to its sandboxes by that path. So with a copied or moved state directory, Drydock would act
 * on sandboxes of the other one, or on nothing.
 *
 * It is written when the database is complete, and removed before a new database is begun. So it also says
 * that there was a database.
 */
interface StateIdentity {
  readonly path: string;
  readonly inode: string;
  /** The birth time in nanoseconds; "0" where the file system has none. */
  readonly born: string;
}

const NAME = "identity.json";
const MOST_BYTES = 64 * 1024;

/** Whether the state directory has an identity. Refuses one whose identity does not match. */
export function hasStateIdentity(stateDir: string): boolean {
  const recorded = recordedIn(stateDir);
  const here = statOf(stateDir);
  if (recorded === undefined || here === undefined) return false;
  const there = statOf(recorded.path);
  const isAtRecordedPath = there !== undefined && there.dev === here.dev && there.ino === here.ino;
  const isTheOne = isSame(here, recorded);
  if (isTheOne && isAtRecordedPath) return true;
  if (isTheOne) throw moved(stateDir, recorded.path);
  throw isAtRecordedPath ? restored(stateDir) : copied(stateDir, recorded.path, there !== undefined);
}

/** Records the identity of the state directory, if it has none. */
export function recordStateIdentity(point: Failpoint, stateDir: string): void {
  using folder = openStateFolder(stateDir);
  whileLocked(folder, () => {
    const here = statOf(stateDir);
    if (here === undefined || recordedIn(stateDir) !== undefined) return;
    const identity: StateIdentity = {
      path: stateDir,
      inode: String(here.ino),
      born: String(here.birthtimeNs),
    };
    writeWhole(point, folder, NAME, Buffer.from(`${JSON.stringify(identity)}\n`), "durable");
  });
}

/** Removes the identity, before a new database of this state directory is begun. */
export function forgetStateIdentity(point: Failpoint, stateDir: string): void {
  passFailpoint(point);
  rmSync(bytesFromPath(join(stateDir, NAME)), { force: true });
}

function recordedIn(stateDir: string): StateIdentity | undefined {
  const text = readTextFile(join(stateDir, NAME), MOST_BYTES)?.text;
  if (text === undefined) return undefined;
  const identity = parsed(text);
  if (identity !== undefined) return identity;
  throw new StateError(
    `${displayPath(join(stateDir, NAME))} is damaged: the state directory does not know itself.`,
    {
      hint: `If it is no copy of another one, run '${adoption(stateDir)}' and try again.`,
    },
  );
}

function parsed(text: string): StateIdentity | undefined {
  try {
    const value = JSON.parse(text) as { readonly [key in keyof StateIdentity]?: unknown } | null;
    const { path, inode, born } = value ?? {};
    const isWhole = typeof path === "string" && typeof inode === "string" && typeof born === "string";
    return isWhole ? { path, inode, born } : undefined;
  } catch {
    return undefined;
  }
}

function isSame(here: BigIntStats, { inode, born }: StateIdentity): boolean {
  const hasBirth = born !== "0" && here.birthtimeNs !== 0n;
  return String(here.ino) === inode && (!hasBirth || String(here.birthtimeNs) === born);
}

function statOf(path: string): BigIntStats | undefined {
  return statSync(bytesFromPath(path), { bigint: true, throwIfNoEntry: false });
}

function copied(stateDir: string, original: string, isOriginalThere: boolean): StateError {
  const shown = displayPath(original);
  return new StateError(
    `The state directory ${displayPath(stateDir)} is a copy of ${shown}; its plans and their sandboxes belong to that one. Nothing was done.`,
    {
      hint: isOriginalThere
        ? `Use ${shown}, and remove the copy, or set DRYDOCK_STATE_DIR to another folder.`
        : `Nothing is there any more: move the copy to ${shown}, and try again.`,
    },
  );
}

function moved(stateDir: string, from: string): StateError {
  const [here, there] = [displayPath(stateDir), displayPath(from)];
  return new StateError(
    `The state directory ${here} was moved from ${there}, by which its plans know their sandboxes. Nothing was done.`,
    { hint: `Move it back, or make its old path lead to it: ln -s ${here} ${there}` },
  );
}

function restored(stateDir: string): StateError {
  return new StateError(
    `The state directory ${displayPath(stateDir)} is not the one that Drydock made there: it was copied, or restored from a backup. Nothing was done.`,
    {
      hint:
        `To go on with it, run '${adoption(stateDir)}'. What was applied, undone or cancelled since the copy was made is not in it: ` +
        "then cancel those plans rather than apply them.",
    },
  );
}

function adoption(stateDir: string): string {
  return `rm ${displayPath(join(stateDir, NAME))}`;
}
