import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { IMAGE_FILE_SYSTEMS, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { makeSubvolume } from "../support/subvolumes.ts";
import { assertAllOrNothing, assertLosesWithout } from "./all-or-nothing.ts";
import type { Originals } from "./cut-landings.ts";

const noImages = whyNoImages();
const rooted = noImages === undefined ? { timeout: 170_000 } : { skip: noImages };
const FLUSHES_OFF = [
  "landings.flush-staged",
  "landings.flush-landed",
  "part.flush-noted",
  "part.flush-settled",
]
  .map((name) => `${name}=skip`)
  .join();
/** What every strategy does when a part lands: before the decision, and after it until the sandbox knows. */
const MOMENTS = [
  "landings.flush-staged:2",
  "land.exchange:1",
  "left.write:1",
  "part.flush-noted:1",
  "part.flush-settled:2",
] as const;
/** Where the base of the rest becomes another one. */
const OWN: { readonly [strategy: string]: readonly string[] } = {
  filesystem_copy: ["copy.baseline:1", "part.note-base:2"],
  overlay: ["part.leave-layer:1", "part.note-base:2"],
  snapshot: ["snapshot.note-landed:1", "part.note-base:2"],
};
/** In a short run only where a file system writes least by itself. */
const PLACES = [
  ...["filesystem_copy", "overlay"].flatMap((strategy) =>
    IMAGE_FILE_SYSTEMS.map((kind) => ({ strategy, kind })),
  ),
  { strategy: "snapshot", kind: "btrfs" } as const,
].filter((_, at) => IS_LONG || at === 0);

function momentsOf(strategy: string): readonly string[] {
  const [first = "", ...others] = [...MOMENTS, ...(OWN[strategy] ?? [])];
  return IS_LONG ? [first, ...others] : [first, "part.flush-settled:2"];
}

function folders(strategy: string): Originals {
  return {
    strategy,
    ...(strategy === "snapshot" && { makeFolder: makeSubvolume }),
    make: (folder) => {
      for (const name of ["part", "rest", "goes"]) writeFileSync(join(folder, name), content("old"));
    },
    change: (path) => {
      for (const name of ["part", "rest"]) writeFileSync(join(path, name), content("new"));
      rmSync(join(path, "goes"));
      mkdirSync(join(path, "comes"));
      writeFileSync(join(path, "comes", "file"), content("new"));
    },
    part: {
      only: ["part", "comes"],
      left: { before: ["comes", "comes/file", "goes", "part", "rest"], after: ["goes", "rest"] },
      differences: (folder) => differences(folder, "new", "old"),
    },
    differences: (folder, side) => differences(folder, side, side),
  };
}

type Side = "old" | "new";

function content(side: Side): string {
  return `${side}\n`.repeat(2000);
}

function differences(folder: string, part: Side, rest: Side): string[] {
  const wanted: { readonly [name: string]: Side | "nothing" } = {
    part,
    rest,
    goes: rest === "new" ? "nothing" : "old",
    "comes/file": part === "new" ? "new" : "nothing",
  };
  return Object.entries(wanted).flatMap(([name, side]) => {
    const path = join(folder, name);
    const found = existsSync(path) ? readFileSync(path, "utf8") : undefined;
    return found === (side === "nothing" ? undefined : content(side)) ? [] : [`${name} is not ${side}`];
  });
}

describe("A power cut while a part of a plan lands", () => {
  for (const { strategy, kind } of PLACES)
    it(
      `[A3][T2] of ${strategy} on ${kind} leaves all of the part or nothing, and the rest in the plan, which lands`,
      rooted,
      () => assertAllOrNothing(kind, folders(strategy), momentsOf(strategy)),
    );

  it("[A3] would not, with the flushes switched off: so this test can tell", rooted, () =>
    assertLosesWithout(FLUSHES_OFF, folders("filesystem_copy"), ["land.exchange:1", "part.flush-settled:2"]),
  );
});
