import type { Change } from "../../../core/change.ts";
import { type LogLine, logText } from "../repository/ref-log.ts";
import type { BlobChange } from "../repository/tree-changes.ts";
import type { GitLock } from "./git-locks.ts";

/** What becomes of the log of a ref: lines are added, or all of it is replaced. */
export type LogMove =
  | {
      readonly lines: string;
      /** Whether to begin a log where there is none. */
      readonly isWanted: boolean;
    }
  | { readonly before?: string; readonly after?: string };

/**
 * A ref, or HEAD, before and after: the content of its file, absent if there is no such ref. Both are the
 * same if only its log changes.
 */
export interface RefMove {
  readonly ref: string;
  readonly from?: string;
  readonly to?: string;
  /** For HEAD, whose content may name a branch: the commits that it leads to before and after. */
  readonly commits?: { readonly from: string; readonly to: string };
  readonly log?: LogMove;
}

/** The commits before and after, as far as there are any. */
export function commitsOf({ from, to, commits }: RefMove): Pick<RefMove, "from" | "to"> {
  return commits ?? { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

/** A ref that a landing moved, as people see it: with the commits by their ids. */
export function shownMove(move: RefMove, path: string): Change {
  const { from, to } = commitsOf(move);
  const ids = [from, to].map((id) => id?.slice(0, 12) ?? "nothing");
  return {
    path,
    operation: move.from === undefined ? "added" : move.to === undefined ? "deleted" : "modified",
    kind: "object",
    note: `${move.ref.replace(/^refs\/(?:heads|tags)\//, "")} from ${ids.join(" to ")}`,
    ...(from !== undefined && { before: { object: from } }),
    ...(to !== undefined && { after: { object: to } }),
  };
}

/** What a landing does to a repository, in the direction of this landing. */
export interface RepositoryMove {
  /** HEAD last. */
  readonly moves: readonly RefMove[];
  /** The content of HEAD before and after. Absent if the landing is the same on any branch. */
  readonly head?: { readonly from: string; readonly to: string };
  /** The changes of the index. */
  readonly changes: readonly BlobChange[];
  /** The paths whose files change. */
  readonly files: readonly string[];
  /** Whether `packed-refs` changes too, because a ref in it goes. */
  readonly packs?: true;
  readonly locks: readonly GitLock[];
}

type Reversible = Pick<RepositoryMove, "moves" | "changes" | "head">;

/** The same in the other direction. `line` is what the logs say of it. */
export function reversed<Move extends Reversible>(move: Move, line: (move: RefMove) => LogLine): Move {
  const changes = move.changes.map(({ path, before, after }) => ({
    path,
    ...(after !== undefined && { before: after }),
    ...(before !== undefined && { after: before }),
  }));
  const { head } = move;
  return {
    ...move,
    changes,
    moves: move.moves.map((each) => reversedRef(each, line)),
    ...(head !== undefined && { head: { from: head.to, to: head.from } }),
  };
}

function reversedRef(move: RefMove, line: (move: RefMove) => LogLine): RefMove {
  const { ref, from, to, log, commits } = move;
  const back = {
    ref,
    ...(to !== undefined && { from: to }),
    ...(from !== undefined && { to: from }),
    ...(commits !== undefined && { commits: { from: commits.to, to: commits.from } }),
  };
  if (log === undefined) return back;
  if (!("lines" in log))
    return {
      ...back,
      log: {
        ...(log.after !== undefined && { before: log.after }),
        ...(log.before !== undefined && { after: log.before }),
      },
    };
  // The log of a new ref goes with the ref.
  if (from === undefined) return { ...back, log: { before: log.lines } };
  return { ...back, log: { lines: logText(line(back)), isWanted: false } };
}
