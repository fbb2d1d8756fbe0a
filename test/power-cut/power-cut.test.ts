import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { IMAGE_FILE_SYSTEMS, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { assertAllOrNothing, assertLosesWithout } from "./all-or-nothing.ts";
import type { Originals } from "./cut-landings.ts";

const STRATEGIES = ["filesystem_copy", "overlay"] as const;
const FILES = 12;
const FLUSHES_OFF = "landings.flush-staged=skip,landings.flush-landed=skip";
const noImages = whyNoImages();
const rooted = noImages === undefined ? { timeout: 170_000 } : { skip: noImages };

/** Moments of an apply: durable points, and some in between. */
const MOMENTS = [
  "stage.take-out:7",
  "stage.manifest:1",
  "landings.flush-staged:1",
  "landings.flush-staged:2",
  "land.ballast:1",
  "land.exchange:1",
  `land.exchange:${FILES}`,
  `land.exchange:${FILES + 3}`,
  "land.remove:1",
  "landings.flush-landed:1",
  "landings.flush-landed:2",
  "cleanup.remove:1",
] as const;

/** Where a file system has the last word: the last moments of either side. */
const LAST: readonly string[] = ["landings.flush-staged:2", "landings.flush-landed:2"];

/**
 * All in a long run. Else all with the first strategy on the first file system, and the last ones with each
 * other strategy or file system: the landing is the same code on them, and whatever it lands from.
 */
function momentsFor(strategy: string, kind: string): readonly string[] {
  const others = [strategy !== STRATEGIES[0], kind !== IMAGE_FILE_SYSTEMS[0]].filter(Boolean).length;
  if (IS_LONG || others === 0) return MOMENTS;
  return others === 1 ? LAST : [];
}

/** Moments of an undo: before it is decided, and while and after the way back is gone. */
const MOMENTS_OF_UNDO = [
  "stage.ballast:1",
  "land.ballast:1",
  "land.exchange:1",
  `land.exchange:${FILES}`,
  `land.exchange:${FILES + 3}`,
  "landings.flush-landed:1",
  "landings.flush-landed:2",
  "landings.discard:1",
] as const;
const SHORT_OF_UNDO: readonly string[] = ["stage.ballast:1", "land.exchange:1", "landings.flush-landed:2"];

describe("A power cut", () => {
  for (const [strategy, kind] of STRATEGIES.flatMap((each) =>
    IMAGE_FILE_SYSTEMS.map((on) => [each, on] as const),
  )) {
    if (!IS_LONG && (strategy !== STRATEGIES[0] || kind !== IMAGE_FILE_SYSTEMS[0])) continue;
    const moments = MOMENTS_OF_UNDO.filter((moment) => IS_LONG || SHORT_OF_UNDO.includes(moment));
    it(
      `[A3] [A18] during an undo of ${strategy} on ${kind} leaves all new or all old, whatever the moment`,
      rooted,
      () => assertAllOrNothing(kind, { ...folders(strategy), isUndone: true }, moments),
    );
  }

  for (const [strategy, kind] of STRATEGIES.flatMap((each) =>
    IMAGE_FILE_SYSTEMS.map((on) => [each, on] as const),
  )) {
    const moments = momentsFor(strategy, kind);
    if (moments.length === 0) continue;
    it(
      `[A3] during an apply of ${strategy} on ${kind} leaves all old or all new, whatever the moment`,
      rooted,
      () => assertAllOrNothing(kind, folders(strategy), moments),
    );
  }

  it(
    "[A3] [A18] would not during an undo, with the flushes switched off: so this test can tell",
    rooted,
    () =>
      assertLosesWithout(FLUSHES_OFF, { ...folders(STRATEGIES[0]), isUndone: true }, ["landings.discard:1"]),
  );

  for (const strategy of IS_LONG ? STRATEGIES : STRATEGIES.slice(0, 1))
    it(`[A3] would not for ${strategy}, with the flushes switched off: so this test can tell`, rooted, () =>
      assertLosesWithout(FLUSHES_OFF, folders(strategy), [
        "land.ballast:1",
        "land.exchange:1",
        "landings.flush-landed:1",
        "cleanup.remove:1",
      ]),
    );
});

function folders(strategy: string): Originals {
  return {
    strategy,
    make: (folder) => {
      for (let at = 0; at < FILES; at += 1) writeFileSync(join(folder, `file-${at}`), content("old", at));
      writeFileSync(join(folder, "goes"), "old\n");
    },
    change: (path) => {
      for (let at = 0; at < FILES; at += 1) writeFileSync(join(path, `file-${at}`), content("new", at));
      rmSync(join(path, "goes"));
      mkdirSync(join(path, "comes"));
      writeFileSync(join(path, "comes", "file"), content("new", 99));
    },
    differences,
  };
}

/** What is not as it should be on this side of the decision. */
function differences(folder: string, side: "old" | "new"): string[] {
  const wanted = new Map<string, string>();
  for (let at = 0; at < FILES; at += 1) wanted.set(`file-${at}`, content(side, at));
  if (side === "old") wanted.set("goes", "old\n");
  else wanted.set("comes/file", content("new", 99));
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name !== "comes");
  const problems = names.filter((name) => !wanted.has(name)).map((name) => `${name} should not be there`);
  for (const [name, text] of wanted) {
    if (!names.includes(name)) problems.push(`${name} is missing`);
    else if (readFileSync(join(folder, name), "utf8") !== text) problems.push(`${name} is not ${side}`);
  }
  return problems;
}

function content(side: "old" | "new", at: number): string {
  return `${side} ${at}\n`.repeat(2000);
}
