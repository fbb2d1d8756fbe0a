import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { PACKAGE_FLAGS } from "../end-to-end/workplace.ts";
import { ACTORS, Stage } from "../run/stage.ts";

const PROGRAM = join(import.meta.dirname, "workspace-program.ts");

const BEFORE = [
  ...[
    "empty directory",
    "empty/kept file 11",
    "gone directory",
    "gone/deep directory",
    "gone/deep/x file 12",
  ],
  ...["keep directory", "keep/a file 7", "keep/b file 7", "link symlink  ../outside", "moved directory"],
  ...["moved/one file 10", "moved/sub directory", "moved/sub/two file 14", "odd\udcff\udcfe file 4"],
  ...["out symlink  ..", "over file 5", "single file 7"],
];

const AFTER = [
  ...["empty directory", "empty/kept file 11", "gone directory", "gone/new file 4", "keep directory"],
  ...["keep/c file 7", "keep/d file 8", "keep/odd\udcff\udcfe file 4", "link-moved symlink  ../outside"],
  ...[
    "made directory",
    "made/again directory",
    "made/again/file file 4",
    "out symlink  ..",
    "renamed directory",
  ],
  ...["renamed/folder directory", "renamed/folder/one file 10", "renamed/folder/sub directory"],
  ...["renamed/folder/sub/two file 14", "single file 5"],
];

const CHANGES = [
  ...["deleted gone/deep", "deleted gone/deep/x", "added gone/new", "deleted keep/a", "deleted keep/b"],
  ...["added keep/c", "added keep/d", "added keep/odd\udcff\udcfe", "deleted link", "added link-moved"],
  ...["added made", "added made/again", "added made/again/file", "deleted moved", "deleted moved/one"],
  ...[
    "deleted moved/sub",
    "deleted moved/sub/two",
    "deleted odd\udcff\udcfe",
    "deleted over",
    "added renamed",
  ],
  ...["added renamed/folder", "added renamed/folder/one", "added renamed/folder/sub"],
  ...["added renamed/folder/sub/two", "modified single"],
];

/** A checkout knows no folders. */
const FOLDERS =
  / (?:gone\/deep|made|made\/again|moved|moved\/sub|renamed|renamed\/folder|renamed\/folder\/sub)$/;

const LANDED = AFTER.map((entry) => {
  const [path = "", kind = ""] = entry.split(" ");
  return `${Buffer.from(path.replace("\udcff\udcfe", "\u00ff\u00fe"), "latin1").toString("latin1")} ${kind.slice(0, 1).replace("s", "l")}`;
});

for (const actor of ACTORS) {
  describe(`A workspace of a plan of ${actor}`, () => {
    it("[P2] has the same verbs with the same effect over every strategy, with any names of bytes", () => {
      using stage = new Stage(actor);
      const ways =
        actor === "root"
          ? ["filesystem_copy", "overlay:mounted", "overlay:unmounted", "git_worktree", "none"]
          : ["overlay", "filesystem_copy"];
      const place = join(stage.path, "originals");
      mkdirSync(place);
      stage.give();
      const ended = stage.run(process.execPath, [...PACKAGE_FLAGS, PROGRAM, place, ...ways]);
      assert.equal(ended.status, 0, ended.stderr);
      const results = JSON.parse(ended.stdout);
      assert.deepEqual(
        results.map(({ way }: { way: string }) => way),
        ways,
      );
      for (const { way, before, after, inside, changes, landed, ...found } of results) {
        assert.deepEqual(before, BEFORE, way);
        assert.deepEqual(after, AFTER, way);
        assert.deepEqual(inside, AFTER, way);
        const expected = way === "git_worktree" ? CHANGES.filter((change) => !FOLDERS.test(change)) : CHANGES;
        assert.deepEqual(changes, expected, way);
        assert.deepEqual(landed, LANDED, way);
        assert.deepEqual(
          found,
          {
            refused: [
              ...["NOT_EMPTY", "NO_SUCH_FILE", "BAD_PATH", "PATH_TAKEN", "BAD_PATH", "BAD_PATH"],
              ...["NO_SUCH_FILE", "BAD_PATH", "NO_SUCH_FILE", "BAD_PATH", "BAD_PATH", "BAD_PATH"],
            ],
            part: [1, 2, 2],
            size: 5 * 1024 * 1024,
            odd: "odd\n",
            two: "moved/sub/two\n",
            missing: true,
            stat: "keep/d file 8",
            matched: ["renamed/folder/one"],
            prefixed: ["keep/c", "keep/d", "keep/odd\udcff\udcfe"],
            run: "keep/a\nc\nd\nodd\udcff\udcfe\n",
            pagesAreWhole: true,
            outside: "secret\n",
          },
          way,
        );
      }
    });
  });
}
