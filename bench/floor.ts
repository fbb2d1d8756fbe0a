import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { statListed } from "../src/system/calls/facts.ts";
import { Folder } from "../src/system/calls/folder.ts";
import { readNames } from "../src/system/calls/listing.ts";
import { syncfs } from "../src/system/calls/native.ts";
import { failpoint } from "../src/system/failpoints.ts";
import { flushPlace, type Side } from "./measure.ts";
import { makeTree, text } from "./trees.ts";

/** The files that are landed in the questions about landing, and the floor that these are compared with. */
const CONTENT_BYTES = 2000;
export const PER_FOLDER = 20;
const EXCHANGE = failpoint("bench.exchange");
const MOVE = failpoint("bench.move");

/** What a landing has to write durably beyond its floor, to be atomic after any crash. */
export const LANDING_FLUSHES =
  "four flushes where the floor has two (begun, staged, decided, landed), the comparison and the checks";

/** The floor, for the table. */
export const FLOOR = "looks, 2 syncfs, renames";

/**
 * What nothing safe can beat, in a process that runs already: one look at each name of both sides, one flush,
 * one rename for each file, one flush. A file that is new is moved in; otherwise it is exchanged with what is
 * there, and what came out is looked at.
 *
 * The looks are part of the floor because no apply is right without them. Without a look at the sandbox it
 * does not know what changed. Without a look at the original it overwrites what another writer changed since.
 * And a writer may be quicker than the rename, so only a look at what came out says whether that is kept.
 */
export function safeRenames(path: string, count: number, files: "changed" | "new" = "changed"): Side {
  const original = join(path, "floor");
  const slots = join(path, "floor-slots");
  let folders: readonly Folder[] = [];
  let names: readonly string[] = [];
  return {
    before: () => {
      const paths = makeTree(original, count, PER_FOLDER, files === "new" ? () => undefined : oldContent);
      mkdirSync(slots);
      flushPlace(path);
      for (let at = 0; at < count; at += 1) writeFileSync(join(slots, String(at)), newContent(at));
      const parents = new Map(
        [...new Set(paths.map(dirname))].map((name) => [name, Folder.open(join(original, name))]),
      );
      folders = paths.map((file) => parents.get(dirname(file)) as Folder);
      names = paths.map((file) => file.slice(dirname(file).length + 1));
    },
    run: async () => {
      using staged = Folder.open(slots);
      for (const folder of new Set(folders)) lookAtNames(folder);
      lookAtNames(staged);
      await syncfs(staged.fd, slots);
      for (let at = 0; at < count; at += 1) {
        const [folder, name] = [folders[at] as Folder, names[at] as string];
        if (files === "new") staged.move(MOVE, String(at), folder, name);
        else {
          staged.exchange(EXCHANGE, String(at), folder, name);
          staged.facts(String(at));
        }
      }
      await syncfs(staged.fd, slots);
    },
    after: () => {
      for (const folder of new Set(folders)) folder.close();
      removeAll(original, slots);
    },
  };
}

function lookAtNames(folder: Folder): void {
  readNames(folder, (_, pointer) => {
    statListed(folder, pointer);
  });
}

export function oldContent(at: number): Buffer {
  return text(at, CONTENT_BYTES);
}

export function newContent(at: number): Buffer {
  return text(at + 1_000_000, CONTENT_BYTES);
}

export function removeAll(...paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { recursive: true, force: true });
}
