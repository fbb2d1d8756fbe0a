import { closeSync, fsyncSync, openSync, renameSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { openServices } from "../src/runtime.ts";
import { answer, compare, type Row } from "./answer.ts";
import {
  FLOOR,
  LANDING_FLUSHES,
  newContent,
  oldContent,
  PER_FOLDER,
  removeAll,
  safeRenames,
} from "./floor.ts";
import { alternate, flushPlace, type Side } from "./measure.ts";
import { imageOrFolder, type Place, withPrivateMounts } from "./places.ts";
import { makeTree } from "./trees.ts";

/**
 * How long does it take to land changed files so that they survive a power cut?
 *
 * Ours is `plans.apply` alone: the comparison, the conflict check, staging, the journal, the exchanges and
 * the removal of the sandbox. Its peers are what careful programs do (for each file: write a temporary file,
 * flush it, rename it, flush the folder), and the floor, which nothing safe and durable can beat: one look at
 * each file of both sides, one flush, the exchanges, one flush (floor.ts). Against a flush for each file
 * there is no goal: how much faster it can be is a matter of the disk, and the floor shows it. All three find
 * the new content as unwritten pages or as bytes in memory, so each of them pays for bringing it to the disk.
 */

withPrivateMounts();
const place = imageOrFolder("ext4");
const drydock = await openServices({ stateDir: join(place.path, "state") });
const rows: Row[] = [];
for (const { count, rounds } of [
  { count: 20, rounds: 25 },
  { count: 2000, rounds: 7 },
]) {
  const { ours, perFile, floor } = await alternate(rounds, {
    ours: apply(place, count),
    perFile: oneByOne(place, count),
    floor: safeRenames(place.path, count),
  });
  const what = `durable apply of ${count} changed files (${place.label})`;
  rows.push(compare(what, ours, "fsync+rename each", perFile, { floor }));
  rows.push(
    compare("  the same against the floor", ours, FLOOR, floor, {
      atMost: 3,
      beyond: LANDING_FLUSHES,
    }),
  );
}
await drydock.close();
answer(rows);

function apply({ path }: Place, count: number): Side {
  const original = join(path, "ours");
  let plan = "";
  return {
    before: async () => {
      const files = makeTree(original, count, PER_FOLDER, oldContent);
      plan = (
        await drydock.plans.create({ resources: [{ location: original, strategy: "filesystem_copy" }] })
      ).id;
      const sandbox = await drydock.plans.path(plan);
      await drydock.plans.list();
      flushPlace(path);
      files.forEach((file, at) => {
        writeFileSync(join(sandbox, file), newContent(at));
      });
    },
    run: async () => {
      await drydock.plans.apply(plan);
    },
    after: () => removeAll(original, join(path, "state/sandboxes")),
  };
}

function oneByOne({ path }: Place, count: number): Side {
  const original = join(path, "one-by-one");
  let files: readonly string[] = [];
  return {
    before: () => {
      files = makeTree(original, count, PER_FOLDER, oldContent);
      flushPlace(path);
    },
    run: () => {
      files.forEach((file, at) => {
        replaceDurably(join(original, file), newContent(at));
      });
    },
    after: () => removeAll(original),
  };
}

function replaceDurably(file: string, content: Buffer): void {
  const temporary = `${file}.new`;
  const fd = openSync(temporary, "wx");
  writeSync(fd, content);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(temporary, file);
  const folder = openSync(dirname(file), "r");
  fsyncSync(folder);
  closeSync(folder);
}
