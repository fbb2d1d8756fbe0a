import { type Facts, sameTime } from "../../system/calls/facts.ts";
import {
  type Direction,
  type EntryIdentity,
  isThere,
  type ManifestEntry,
  sameContentFacts,
} from "../manifest/manifest.ts";

/**
 * Decides what a landing does next with one entry. Pure: facts in, the next deed or the final verdict out.
 * The driver (landing-run.ts) performs a deed, looks again and asks again, until there is a verdict. The
 * decision depends only on what is where, so an interrupted run continues from any point.
 *
 * An undo uses the same table: `passageOf` swaps before and after.
 */

/** The passage of one entry: the original holds `from` before it and `to` after it. */
export interface Passage {
  readonly kind: "replace" | "bring-in" | "take-out";
  readonly from: EntryIdentity | undefined;
  readonly to: EntryIdentity | undefined;
}

/**
 * The entry in a place: `touched` is `from` after another writer changed it; only another writer can have put
 * `other` there.
 */
export type Occupant = "nothing" | "from" | "touched" | "to" | "other";

/**
 * How versions of other writers are treated that appear after prepare:
 * - `set-aside`: a landing takes their place and keeps them in the slot; what they changed is not deleted.
 * - `leave`: they stay where they are, and what was prepared does not land.
 * - `restore`: an undo brings back what was there in any case, and keeps them in the slot.
 */
export type OthersRule = "set-aside" | "leave" | "restore";

export interface Situation {
  readonly kind: Passage["kind"];
  readonly original: Occupant;
  readonly slot: Occupant;
  /** The last deed of this run for this entry. */
  readonly did: Deed | "nothing";
  readonly others: OthersRule;
}

/** A change of the original: one rename. `give-back` returns what a deed brought out to where it was. */
export type Deed = "exchange" | "bring-in" | "take-out" | "give-back";

/**
 * How an entry ends:
 * - `done`: it is as it should be.
 * - `done-over-deleted`: the same, and another writer had deleted what it replaces.
 * - `set-aside`: the slot holds another writer's version, which is kept.
 * - `left-alone`, `not-deleted`, `made-anew`: another writer's version stays in the original.
 * - `not-kept`: what should come in is no longer in its slot.
 */
export type Verdict =
  | "done"
  | "done-over-deleted"
  | "set-aside"
  | "left-alone"
  | "not-deleted"
  | "made-anew"
  | "not-kept";

type Pattern = { readonly [field in keyof Situation]?: readonly Situation[field][] };

const COMING: readonly Passage["kind"][] = ["replace", "bring-in"];
const GOING: readonly Passage["kind"][] = ["take-out"];

/** The first row that fits decides. A field that a row does not name may be anything. */
const TABLE: readonly (readonly [Pattern, Deed | Verdict])[] = [
  [{ kind: COMING, did: ["give-back"] }, "left-alone"],
  [{ kind: ["replace"], did: ["bring-in"] }, "done-over-deleted"],
  [{ kind: COMING, original: ["to"], slot: ["nothing"] }, "done"],
  [{ kind: ["replace"], original: ["to"], slot: ["from"] }, "done"],
  // Another writer was quicker than the last look: its version came out.
  [{ kind: COMING, original: ["to"], others: ["leave"] }, "give-back"],
  [{ kind: COMING, original: ["to"] }, "set-aside"],
  [{ kind: COMING, slot: ["nothing", "from", "touched", "other"] }, "not-kept"],
  [{ kind: ["replace"], original: ["from"] }, "exchange"],
  [{ kind: ["bring-in"], original: ["nothing"] }, "bring-in"],
  [{ kind: COMING, others: ["leave"] }, "left-alone"],
  [{ kind: ["replace"], original: ["nothing"] }, "bring-in"],
  [{ kind: COMING }, "exchange"],

  [{ kind: GOING, did: ["give-back"] }, "not-deleted"],
  [{ kind: GOING, original: ["nothing"], slot: ["nothing", "from"] }, "done"],
  [{ kind: GOING, original: ["nothing"], others: ["restore"] }, "set-aside"],
  [{ kind: GOING, original: ["nothing"] }, "give-back"],
  [{ kind: GOING, original: ["touched"], others: ["set-aside", "leave"] }, "not-deleted"],
  [{ kind: GOING, original: ["from", "touched"], slot: ["nothing"] }, "take-out"],
  // An undo finds another writer's version in the slot: it returns to where it was.
  [{ kind: GOING, original: ["from", "touched"], did: ["nothing"] }, "exchange"],
  [{ kind: GOING, slot: ["from"], did: ["exchange"] }, "done"],
  [{ kind: GOING, slot: ["from"] }, "made-anew"],
  [{ kind: GOING, slot: ["touched"] }, "set-aside"],
  [{ kind: GOING }, "not-deleted"],
];

export function decide(situation: Situation): Deed | Verdict {
  for (const [pattern, then] of TABLE) if (fits(situation, pattern)) return then;
  throw new Error(`No row of the landing's table fits ${JSON.stringify(situation)}.`);
}

function fits(situation: Situation, pattern: Pattern): boolean {
  return (
    (pattern.kind === undefined || pattern.kind.includes(situation.kind)) &&
    (pattern.original === undefined || pattern.original.includes(situation.original)) &&
    (pattern.slot === undefined || pattern.slot.includes(situation.slot)) &&
    (pattern.did === undefined || pattern.did.includes(situation.did)) &&
    (pattern.others === undefined || pattern.others.includes(situation.others))
  );
}

const DEEDS: ReadonlySet<string> = new Set<Deed>(["exchange", "bring-in", "take-out", "give-back"]);

export function isDeed(next: Deed | Verdict): next is Deed {
  return DEEDS.has(next);
}

/** The passage of an entry that changes more than metadata. `landed` is its identity once it has landed. */
export function passageOf(entry: ManifestEntry, direction: Direction, landed = entry.after): Passage {
  const [from, to] = direction === "forward" ? [entry.before, landed] : [landed, entry.before];
  if (entry.operation === "replace") return { kind: "replace", from, to };
  const comes = (entry.operation === "add") === (direction === "forward");
  return { kind: comes ? "bring-in" : "take-out", from, to };
}

/** What is known of the changes that this landing made itself: see landing-touches.ts. */
export interface OwnTouch {
  has(facts: Facts): boolean;
}

/** What is at the path in the original. */
export function inOriginal(
  now: Facts | undefined,
  passage: Passage,
  own: OwnTouch,
  direction: Direction,
): Occupant {
  if (now === undefined) return "nothing";
  if (isThere(now, passage.to)) return "to";
  if (passage.from === undefined || !isThere(now, passage.from)) return "other";
  const isSame =
    direction === "forward" ? isAsPrepared(now, passage.from) : sameContentFacts(now, passage.from);
  return isSame || own.has(now) ? "from" : "touched";
}

/**
 * Landing another name of a file, maybe in another resource of the plan, moves its change time; names that
 * come and go in a folder move the folder's.
 */
function isAsPrepared(now: Facts, seen: EntryIdentity): boolean {
  const mayHaveMoved = now.nlink > 1 || now.kind === "directory";
  return sameContentFacts(now, seen) && (mayHaveMoved || sameTime(now.ctime, seen.ctime));
}

/**
 * What is in the slot. `from` is compared with `seen`, what the last look found in the original. Whether
 * something changed inside of a folder that is `from` is for the driver to see, because that takes a walk.
 */
export function inSlot(now: Facts | undefined, { from, to }: Passage, own: OwnTouch, seen = from): Occupant {
  if (now === undefined) return "nothing";
  if (isThere(now, to)) return "to";
  if (from === undefined || seen === undefined || !isThere(now, from)) return "other";
  return sameContentFacts(now, seen) || own.has(now) ? "from" : "touched";
}
