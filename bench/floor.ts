import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Folder } from "../src/system/calls/folder.ts";
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

/**
 * What nothing durable can beat: one flush, the exchanges alone, one flush. Of files that are new: moves
 * instead of exchanges.
 */
export function renamesAlone(path: string, count: number, files: "changed" | "new" = "changed"): Side {
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
      await syncfs(staged.fd, slots);
      for (let at = 0; at < count; at += 1) {
        const [folder, name] = [folders[at] as Folder, names[at] as string];
        if (files === "new") staged.move(MOVE, String(at), folder, name);
        else staged.exchange(EXCHANGE, String(at), folder, name);
      }
      await syncfs(staged.fd, slots);
    },
    after: () => {
      for (const folder of new Set(folders)) folder.close();
      removeAll(original, slots);
    },
  };
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
