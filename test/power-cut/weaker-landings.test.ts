import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { IMAGE_FILE_SYSTEMS, whyNoFuse, whyNoImages } from "../support/file-systems.ts";
import { IS_LONG } from "../support/long-form.ts";
import { assertAllOrNothing } from "./all-or-nothing.ts";
import type { Originals } from "./cut-landings.ts";
import { type Cover, OVERLAY_ROOT, WITHOUT_EXCHANGE } from "./disk.ts";

const why = whyNoImages() ?? whyNoFuse();
const rooted = why === undefined ? { timeout: 170_000 } : { skip: why };
const KINDS = IS_LONG ? IMAGE_FILE_SYSTEMS : IMAGE_FILE_SYSTEMS.slice(0, 1);

/** Each with its old and its new content; undefined is nothing. */
const FILES: readonly (readonly [path: string, old: string | undefined, now: string | undefined])[] = [
  ["changes", "old\n".repeat(2000), "new\n".repeat(2000)],
  ["goes", "old\n", undefined],
  ["folder/deep/one", "old\n", undefined],
  ["folder/deep/two", "old\n", undefined],
  ["folder/three", "old\n", undefined],
  ["to-file/one", "old\n", undefined],
  ["comes/file", undefined, "new\n".repeat(2000)],
];

/** Before and after what is flushed, and each step that other file systems do not take. */
const MOMENTS = {
  overlay: ["landings.flush-staged:2", "move.file-of-folder:2", "move.place-skeleton:1", "cleanup.remove:1"],
  steps: ["landings.flush-staged:2", "exchange.in:1"],
} as const;
const MORE = {
  overlay: [
    "landings.flush-staged:1",
    "land.exchange:1",
    "move.file-of-folder:4",
    "move.remove-emptied:1",
    "move.remove-emptied:3",
    "landings.flush-landed:1",
    "landings.flush-landed:2",
  ],
  steps: [
    "landings.flush-staged:1",
    "exchange.in:2",
    "exchange.keep:1",
    "exchange.keep:2",
    "landings.flush-landed:1",
    "landings.flush-landed:2",
    "cleanup.remove:1",
  ],
} as const;

describe("A power cut, where a landing takes more steps,", () => {
  for (const kind of KINDS) {
    it(
      `[W1][A3] on an overlay over ${kind}, like a container's root, leaves all old or all new`,
      rooted,
      () => assertAllOrNothing(kind, over(OVERLAY_ROOT), momentsOf("overlay")),
    );
    it(`[W1][A3] where two names can't be exchanged, over ${kind}, leaves all old or all new`, rooted, () =>
      assertAllOrNothing(kind, over(WITHOUT_EXCHANGE), momentsOf("steps")),
    );
  }
});

function momentsOf(way: keyof typeof MOMENTS): readonly string[] {
  return IS_LONG ? [...MOMENTS[way], ...MORE[way]] : MOMENTS[way];
}

function over(cover: Cover): Originals {
  return {
    cover,
    strategy: "filesystem_copy",
    make: (folder) => {
      for (const [path, old] of FILES) if (old !== undefined) write(join(folder, path), old);
    },
    change: (folder) => {
      for (const name of ["goes", "folder", "to-file"]) rmSync(join(folder, name), { recursive: true });
      for (const [path, , now] of FILES) if (now !== undefined) write(join(folder, path), now);
      write(join(folder, "to-file"), "new\n");
    },
    differences: (folder, side) => [
      ...FILES.filter(([path, old, now]) => read(join(folder, path)) !== (side === "old" ? old : now)).map(
        ([path]) => `${path} is not ${side}`,
      ),
      ...(read(join(folder, "to-file")) === (side === "old" ? undefined : "new\n") ? [] : ["to-file"]),
    ],
  };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Undefined if there is no file. */
function read(path: string): string | undefined {
  return existsSync(path) && !existsSync(`${path}/.`) ? readFileSync(path, "utf8") : undefined;
}
