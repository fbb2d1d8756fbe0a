import fc from "fast-check";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";

/** What a program does, by the paths below the folder that it works in. */
export type Work =
  | { readonly does: "write" | "append" | "holds"; readonly path: string; readonly text: string }
  | { readonly does: "writes-on"; readonly text: string }
  | { readonly does: "remove" | "folder"; readonly path: string }
  | { readonly does: "move" | "link" | "point"; readonly path: string; readonly to: string }
  | { readonly does: "mode"; readonly path: string; readonly mode: number };

/** What a sequence does most, besides work. */
export type Focus = "landing" | "restoring";

export type Step =
  | { readonly kind: "work"; readonly work: Work }
  /** Another writer makes, changes or removes what no program of the plan touches. */
  | { readonly kind: "rival"; readonly path: string; readonly text: string | undefined }
  | { readonly kind: "apply"; readonly only: string; readonly crash?: Crash }
  | { readonly kind: "checkpoint" | "restore" | "undo" | "end" }
  /** A restore while programs are inside. */
  | { readonly kind: "restore-inside"; readonly crash?: Crash }
  /** The end of the programs fails at a step, and is done again by the next process. */
  | { readonly kind: "broken-end"; readonly point: string; readonly nth: number };

/** What happens between the prepare and the end of an apply. */
export interface Crash {
  /** Where it fails; undefined: between the prepare and the decision. */
  readonly point?: string;
  readonly nth: number;
  readonly isTakenBack: boolean;
  readonly work: readonly Work[];
  /** The programs end before the recovery. */
  readonly ends: boolean;
}

const FILES = ["a", "old/one", "kept/one", "new/f", "new/in/f", "shared/n"];
const FEW_FILES = ["a", "old/one", "new/f"];
const FEW_FOLDERS = ["old", "new"];
const FOLDERS = ["old", "kept/made", "new", "new/in", "f"];
const SETTLING = ["hide-removed", "close-inner", "leave", "show-lower"].map((name) => `landed.${name}`);
const BASE = ["overlay.note-base", "overlay.note-times", "overlay.give-times", "overlay.forget-times"];
const LANDING = [
  "land.add",
  "land.replace",
  "land.delete",
  "land.write-landed",
  "part.note-base",
  "left.write",
];

const RESTORING = [
  ...["remove", "create-folder"].map((name) => `mounted.${name}`),
  ...["create-file", "write", "create-hard-link", "metadata"].map((name) => `copy.${name}`),
  ...["metadata.times", "metadata.mode", "overlay.note-base"],
  ...["begin-restore", "flush-restored", "end-restore"].map((name) => `checkpoint.${name}`),
];

const text = fc.integer({ min: 1, max: 99 }).map((number) => `${number}\n`);

/**
 * Restores meet what they met before more often where there is less to work on. And only files are moved
 * there: with a folder of the original, nothing more is saved until the programs have ended.
 */
function workOn(focus: Focus): fc.Arbitrary<Work> {
  const isFocused = focus === "restoring";
  const file = fc.constantFrom(...(isFocused ? FEW_FILES : FILES));
  const folder = fc.constantFrom(...(isFocused ? FEW_FOLDERS : FOLDERS));
  const path = fc.oneof({ weight: 2, arbitrary: file }, folder);
  const isHeld = isFocused ? [] : ["holds"];
  return fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ does: fc.constantFrom("write", "append", ...isHeld), path: file, text }),
    },
    { weight: isFocused ? 1 : 2, arbitrary: fc.record({ does: fc.constant("writes-on"), text }) },
    {
      weight: isFocused ? 1 : 0,
      arbitrary: fc.record({ does: fc.constant("holds"), path: file, text }),
    },
    { weight: 5, arbitrary: fc.record({ does: fc.constantFrom("remove", "folder"), path }) },
    {
      weight: isFocused ? 2 : 5,
      arbitrary: fc.record({ does: fc.constant("move"), path: isFocused ? file : path, to: path }),
    },
    { weight: 2, arbitrary: fc.record({ does: fc.constantFrom("link", "point"), path: file, to: file }) },
    {
      weight: 2,
      arbitrary: fc.record({ does: fc.constant("mode"), path, mode: fc.constantFrom(0o700, 0o640, 0o555) }),
    },
  ) as fc.Arbitrary<Work>;
}

const nth = fc.integer({ min: 1, max: 4 });
const crashAt = (work: fc.Arbitrary<Work>, points: readonly string[]): fc.Arbitrary<Crash> =>
  fc.record(
    {
      point: fc.constantFrom(...points),
      nth,
      isTakenBack: fc.boolean(),
      work: fc.array(work, { maxLength: 4 }),
      ends: fc.boolean(),
    },
    { requiredKeys: ["nth", "isTakenBack", "work", "ends"] },
  );
/** In a user namespace, a rename in a folder that another writer changes is not always known as one. */
const rivals = (way: OverlayWay) =>
  way === "kernel" ? ["apart/rival", "shared/rival", "rival", "kept/rival"] : ["apart/rival"];

export function steps(way: OverlayWay, focus: Focus): fc.Arbitrary<Step> {
  const work = workOn(focus);
  return fc.oneof(
    { weight: 14, arbitrary: fc.record({ kind: fc.constant("work"), work }) },
    {
      weight: focus === "landing" ? 1 : 3,
      arbitrary: fc.record({
        kind: fc.constant("rival"),
        path: fc.constantFrom(...rivals(way)),
        text: fc.option(text, { nil: undefined }),
      }),
    },
    {
      weight: focus === "landing" ? 5 : 1,
      arbitrary: fc.record(
        {
          kind: fc.constant("apply"),
          only: fc.constantFrom(".", ".", ".", "a", "new", "kept", "old", "f"),
          crash: crashAt(work, [...LANDING, ...BASE, ...SETTLING]),
        },
        { requiredKeys: ["kind", "only"] },
      ),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom("checkpoint", "restore", "undo", "end") }) },
    { weight: focus === "landing" ? 0 : 3, arbitrary: fc.record({ kind: fc.constant("checkpoint") }) },
    {
      weight: focus === "landing" ? 1 : 6,
      arbitrary: fc.record(
        { kind: fc.constant("restore-inside"), crash: crashAt(work, RESTORING) },
        { requiredKeys: ["kind"] },
      ),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant("broken-end"),
        point: fc.constantFrom(...SETTLING, ...BASE),
        nth,
      }),
    },
  ) as fc.Arbitrary<Step>;
}
