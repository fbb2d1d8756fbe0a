import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { type MountedImage, mountImage, whyNoImages } from "../../../test/support/file-systems.ts";
import { makeSubvolume, removeWithSubvolumes } from "../../../test/support/subvolumes.ts";
import { takeBarrier } from "../../engine/base/barrier.ts";
import type { ChangeSet } from "../../engine/changes/change-set.ts";
import { runAtOnce } from "../../engine/work/pace.ts";
import { createSnapshot } from "../../system/btrfs/btrfs.ts";
import { commitOf, inodesTouchedSince } from "../../system/btrfs/btrfs-search.ts";
import type { Time } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { diffSnapshots, diffWithBase, type Snapshots } from "./snapshot-diff.ts";

const POINT = failpoint("test.twins");

/** Each is done in the sandbox; then these paths differ. */
const WORK: readonly (readonly [
  what: string,
  work: (at: (path: string) => string) => void,
  lines: readonly string[],
])[] = [
  ["nothing", () => undefined, []],
  ["a change deep down", (at) => writeFileSync(at("a/b/c/file"), "new\n"), ["modified a/b/c/file"]],
  [
    "other content of the same size and time",
    (at) => {
      writeFileSync(at("a/file"), "OLD\n");
      utimesSync(at("a/file"), 1, 1);
    },
    ["modified a/file"],
  ],
  ["a mode", (at) => chmodSync(at("a/b"), 0o700), ["modified a/b"]],
  ["a file that is gone", (at) => rmSync(at("a/b/c/file")), ["deleted a/b/c/file"]],
  [
    "a folder that is gone",
    (at) => rmSync(at("a/b"), { recursive: true }),
    ["deleted a/b", "deleted a/b/c", "deleted a/b/c/file", "deleted a/b/file"],
  ],
  ["something new", (at) => symlinkSync("nowhere", at("d/link")), ["added d/link"]],
  [
    "a folder in the place of another, with the same names in it",
    (at) => {
      rmSync(at("d"), { recursive: true });
      renameSync(at("a/b"), at("d"));
    },
    [
      "added d/c",
      "added d/c/file",
      "deleted a/b",
      "deleted a/b/c",
      "deleted a/b/c/file",
      "deleted a/b/file",
      "modified d/file",
    ],
  ],
  [
    "two files that changed places",
    (at) => {
      renameSync(at("a/file"), at("aside"));
      renameSync(at("d/file"), at("a/file"));
      renameSync(at("aside"), at("d/file"));
      chmodSync(at("a/file"), 0o600);
    },
    ["modified a/file"],
  ],
  [
    "another name of a file in a folder far away",
    (at) => linkSync(at("links/one"), at("a/b/c/more")),
    ["added a/b/c/more"],
  ],
  [
    "a folder that moved, with one of the names of a file",
    (at) => renameSync(at("links/inner"), at("a/moved")),
    ["added a/moved", "added a/moved/two", "deleted links/inner", "deleted links/inner/two"],
  ],
  [
    "what was taken back",
    (at) => {
      renameSync(at("a/file"), at("aside"));
      copyFileSync(at("aside"), at("a/file"));
      rmSync(at("aside"));
      utimesSync(at("a/file"), 1, 1);
    },
    [],
  ],
];

class OpenSnapshots implements Snapshots {
  readonly tree: Folder;
  readonly base: Folder;
  readonly barrier: Time;

  constructor(place: string, barrier: Time) {
    this.tree = Folder.open(join(place, "tree"));
    this.base = Folder.open(join(place, "base"));
    this.barrier = barrier;
  }

  [Symbol.dispose](): void {
    this.tree.close();
    this.base.close();
  }
}

describe("a snapshot and its base", { skip: whyNoImages() ?? false }, () => {
  let image: MountedImage;
  let place: string;
  let barrier: Time;
  before(() => {
    image = mountImage("btrfs");
  });
  after(() => image.remove());
  beforeEach(() => {
    place = mkdtempSync(join(image.path, "case-"));
    const original = join(place, "original");
    makeSubvolume(original);
    for (const folder of ["a/b/c", "d", "links/inner", "still/there"])
      mkdirSync(join(original, folder), { recursive: true });
    for (const file of ["a/file", "a/b/file", "a/b/c/file", "d/file", "links/one", "still/there/file"]) {
      writeFileSync(join(original, file), "old\n");
      utimesSync(join(original, file), 1, 1);
    }
    writeFileSync(join(original, "a/b/file"), "other\n");
    linkSync(join(original, "links/one"), join(original, "links/inner/two"));
    using source = Folder.open(original);
    using target = Folder.open(place);
    barrier = takeBarrier(target);
    createSnapshot(POINT, source, target, "base", { readOnly: true });
    using base = target.openChild("base");
    createSnapshot(POINT, base, target, "tree");
  });
  afterEach(() => removeWithSubvolumes(place));

  const linesOf = ({ changes }: ChangeSet) =>
    Array.from(changes, ({ operation, path }) => `${operation} ${path}`).toSorted();

  const outlineOf = ({ entries, folderTimes, ...rest }: ChangeSet) => ({
    lines: linesOf({ entries, folderTimes, ...rest }),
    entries: Array.from(entries, ({ operation, path, parts }) => [operation, path, parts]),
    folderTimes: [...folderTimes],
  });

  for (const [what, work, lines] of WORK)
    it(`[D1] differ in the same, whether the file system tells what was touched or both are walked: ${what}`, () => {
      work((path) => join(place, "tree", path));
      using snapshots = new OpenSnapshots(place, barrier);
      const found = runAtOnce(diffWithBase(snapshots));
      assert.deepEqual(linesOf(found), lines);
      assert.deepEqual(outlineOf(found), outlineOf(runAtOnce(diffSnapshots(snapshots, undefined))));
    });

  it("[D6] are looked at only where something was touched", () => {
    using snapshots = new OpenSnapshots(place, barrier);
    const { tree, base } = snapshots;
    writeFileSync(join(place, "tree/a/b/file"), "new\n");
    const touched = inodesTouchedSince(tree, commitOf(base)) ?? new Set();
    const inode = (path: string) => {
      using folder = tree.openBelow(path);
      return folder.ownFacts().ino;
    };
    assert.deepEqual(
      [".", "a", "a/b", "a/b/c", "d", "still", "still/there"].map((path) => touched.has(inode(path))),
      [true, true, true, false, false, false, false],
    );
  });

  for (const [what, work] of [
    ["got another one", (at: (path: string) => string) => linkSync(at("links/one"), at("a/more"))],
    [
      "came along with a folder",
      (at: (path: string) => string) => renameSync(at("links/inner"), at("a/moved")),
    ],
  ] as const)
    it(`[A11] know a name in both of a file that ${what}`, () => {
      work((path) => join(place, "tree", path));
      using snapshots = new OpenSnapshots(place, barrier);
      assert.equal([...runAtOnce(diffWithBase(snapshots)).anchors.values()].length, 1);
    });

  it("[D2] differ in content though everything was done within one tick of the clock", (t) => {
    const path = join(place, "again");
    for (let tries = 0; tries < 100; tries += 1) {
      mkdirSync(path);
      makeSubvolume(join(path, "tree"));
      using target = Folder.open(path);
      using tree = target.openChild("tree");
      const before = takeBarrier(target);
      writeFileSync(join(path, "tree/file"), "old\n");
      createSnapshot(POINT, tree, target, "base", { readOnly: true });
      writeFileSync(join(path, "tree/file"), "new\n");
      using snapshots = new OpenSnapshots(path, before);
      const [is, was] = [snapshots.tree, snapshots.base].map((folder) => folder.facts("file")?.ctime);
      if (String(is) === String(was)) {
        assert.deepEqual(linesOf(runAtOnce(diffSnapshots(snapshots, undefined))), ["modified file"]);
        assert.deepEqual(linesOf(runAtOnce(diffWithBase(snapshots))), ["modified file"]);
        return;
      }
      removeWithSubvolumes(path);
    }
    t.diagnostic("the clock of this machine tells any two changes apart");
  });
});
