import assert from "node:assert/strict";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";

/**
 * One row of the conflict table: what the plan does, what somebody else does to the original, which paths
 * conflict.
 */
export interface ConflictRow {
  readonly title: string;
  readonly plan: (at: (path: string) => string) => void;
  readonly rival: (at: (path: string) => string) => void;
  /** None: it lands, and then `afterwards` holds. */
  readonly conflicts: readonly string[];
  readonly afterwards?: (at: (path: string) => string) => void;
  /** Why an overlay in this way can't tell, while programs are inside. */
  readonly unknownTo?: { readonly [way in OverlayWay]?: string };
  /** If all that the plan does is to write these files: their paths. */
  readonly writes?: readonly string[];
}

/** What is written to them. */
export const PLANNED = "the plan's\n";

const text = (path: string) => readFileSync(path, "utf8");
const edit = (path: string) => (at: (path: string) => string) => writeFileSync(at(path), PLANNED);
const writing = (path: string) => ({ plan: edit(path), writes: [path] });
const remove = (path: string) => (at: (path: string) => string) => rmSync(at(path), { recursive: true });

export const CONFLICT_ROWS: readonly ConflictRow[] = [
  {
    title: "modified by the plan, written by another",
    ...writing("file"),
    rival: (at) => writeFileSync(at("file"), "mine\n"),
    conflicts: ["file"],
  },
  {
    title: "modified by the plan, written by another with the same size and time",
    ...writing("file"),
    rival: (at) => {
      const { atime, mtime } = statSync(at("file"));
      writeFileSync(at("file"), "FILE\n");
      utimesSync(at("file"), atime, mtime);
    },
    conflicts: ["file"],
  },
  {
    title: "modified by the plan, chmodded by another",
    ...writing("file"),
    rival: (at) => chmodSync(at("file"), 0o600),
    conflicts: ["file"],
  },
  {
    title: "modified by the plan, replaced by another with an old file",
    ...writing("file"),
    rival: (at) => renameSync(at("spare"), at("file")),
    conflicts: ["file"],
  },
  {
    title: "modified by the plan, deleted by another",
    ...writing("file"),
    rival: remove("file"),
    conflicts: ["file"],
  },
  {
    title: "modified by the plan, which also deletes something else, and deleted by another",
    plan: (at) => {
      edit("file")(at);
      remove("spare")(at);
    },
    rival: remove("file"),
    conflicts: ["file"],
  },
  {
    title: "moved by the plan to where another has changed something else",
    plan: (at) => renameSync(at("spare"), at("folder/moved")),
    rival: (at) => writeFileSync(at("folder/mine"), "mine\n"),
    conflicts: [],
    afterwards: (at) => {
      assert.equal(text(at("folder/moved")), "spare\n");
      assert.equal(text(at("folder/mine")), "mine\n");
      assert.throws(() => text(at("spare")));
    },
  },
  {
    title: "moved and written by the plan, while another works elsewhere",
    plan: (at) => {
      renameSync(at("spare"), at("folder/moved"));
      edit("folder/moved")(at);
    },
    rival: (at) => writeFileSync(at("twin/mine"), "mine\n"),
    conflicts: [],
    afterwards: (at) => assert.equal(text(at("folder/moved")), PLANNED),
  },
  {
    title: "deleted by the plan, written by another",
    plan: remove("file"),
    rival: (at) => writeFileSync(at("file"), "mine\n"),
    conflicts: ["file"],
  },
  {
    title: "deleted by both",
    plan: remove("file"),
    rival: remove("file"),
    conflicts: [],
    afterwards: (at) => assert.throws(() => text(at("file"))),
  },
  {
    title: "retyped by the plan, written by another",
    plan: (at) => {
      rmSync(at("file"));
      mkdirSync(at("file"));
    },
    rival: (at) => writeFileSync(at("file"), "mine\n"),
    conflicts: ["file"],
  },
  {
    title: "a link pointed elsewhere by the plan, and by another",
    plan: (at) => relink(at("link"), "spare"),
    rival: (at) => relink(at("link"), "elsewhere"),
    conflicts: ["link"],
  },
  {
    title: "a link pointed elsewhere by both alike",
    plan: (at) => relink(at("link"), "spare"),
    rival: (at) => relink(at("link"), "spare"),
    conflicts: [],
  },
  {
    title: "the same content written by both",
    ...writing("file"),
    rival: (at) => writeFileSync(at("file"), "the plan's\n"),
    conflicts: [],
    afterwards: (at) => assert.equal(text(at("file")), "the plan's\n"),
  },
  {
    title: "added by the plan, something else added by another",
    ...writing("new"),
    rival: (at) => writeFileSync(at("new"), "mine\n"),
    conflicts: ["new"],
  },
  {
    title: "added by the plan, a folder added by another",
    ...writing("new"),
    rival: (at) => mkdirSync(at("new")),
    conflicts: ["new"],
  },
  {
    title: "the same added by both",
    ...writing("new"),
    rival: (at) => writeFileSync(at("new"), "the plan's\n"),
    conflicts: [],
  },
  {
    title: "the same folder added by both",
    unknownTo: {
      fuse: "a new folder has the same marks as one that replaces another, so it is called a conflict",
    },
    plan: addFolder("the plan's\n"),
    rival: addFolder("the plan's\n"),
    conflicts: [],
  },
  {
    title: "a folder added by both with other content",
    plan: addFolder("the plan's\n"),
    rival: addFolder("mine\n"),
    conflicts: ["new-folder"],
  },
  {
    title: "both add into one folder",
    ...writing("folder/planned"),
    rival: (at) => writeFileSync(at("folder/mine"), "mine\n"),
    conflicts: [],
    afterwards: (at) => {
      assert.equal(text(at("folder/planned")), "the plan's\n");
      assert.equal(text(at("folder/mine")), "mine\n");
    },
  },
  {
    title: "a folder's mode changed by the plan, its content by another",
    plan: (at) => chmodSync(at("folder"), 0o700),
    rival: (at) => writeFileSync(at("folder/mine"), "mine\n"),
    conflicts: [],
    afterwards: (at) => assert.equal(statSync(at("folder")).mode & 0o777, 0o700),
  },
  {
    title: "a folder's mode changed by both",
    plan: (at) => chmodSync(at("folder"), 0o700),
    rival: (at) => chmodSync(at("folder"), 0o711),
    conflicts: ["folder"],
  },
  {
    title: "a file's mode changed by the plan, its content by another",
    plan: (at) => chmodSync(at("file"), 0o600),
    rival: (at) => writeFileSync(at("file"), "mine\n"),
    conflicts: ["file"],
  },
  {
    title: "a folder deleted by the plan, added to by another",
    plan: remove("folder"),
    rival: (at) => writeFileSync(at("folder/mine"), "mine\n"),
    conflicts: ["folder"],
  },
  {
    title: "a folder deleted by the plan, changed deep inside by another",
    plan: remove("folder"),
    rival: (at) => writeFileSync(at("folder/deep/inner"), "mine\n"),
    conflicts: ["folder"],
  },
  {
    title: "a folder deleted by the plan, something in it deleted by another",
    plan: remove("folder"),
    rival: remove("folder/deep/inner"),
    conflicts: ["folder"],
  },
  { title: "a folder deleted by both", plan: remove("folder"), rival: remove("folder"), conflicts: [] },
  {
    title: "a folder replaced by the plan, changed deep inside by another",
    plan: (at) => {
      mkdirSync(at("other"));
      writeFileSync(at("other/x"), "x");
      rmSync(at("folder"), { recursive: true });
      renameSync(at("other"), at("folder"));
    },
    rival: (at) => chmodSync(at("folder/deep/inner"), 0o600),
    conflicts: ["folder"],
  },
  {
    title: "changed in a folder that is gone",
    ...writing("folder/deep/inner"),
    rival: remove("folder"),
    conflicts: ["folder/deep/inner"],
  },
  {
    title: "deleted in a folder that is gone",
    plan: remove("folder/deep/inner"),
    rival: remove("folder"),
    conflicts: ["folder/deep/inner"],
  },
  {
    title: "emptied in a folder that is gone",
    plan: (at) => {
      remove("folder/deep")(at);
      mkdirSync(at("folder/deep"));
    },
    rival: remove("folder"),
    conflicts: ["folder/deep"],
  },
  {
    title: "changed in a folder that was moved away and made anew",
    ...writing("folder/deep/inner"),
    rival: (at) => {
      renameSync(at("folder"), at("elsewhere"));
      mkdirSync(at("folder/deep"), { recursive: true });
      writeFileSync(at("folder/deep/inner"), "inner\n");
    },
    conflicts: ["folder/deep/inner"],
  },
  {
    title: "changed in a folder whose place another untouched one has taken",
    unknownTo: {
      fuse: "nothing says which folder it was that programs saw",
      "user-namespace": "a folder that was copied up does not say which one it is of",
    },
    ...writing("folder/deep/inner"),
    rival: (at) => {
      renameSync(at("folder"), at("elsewhere"));
      renameSync(at("twin"), at("folder"));
    },
    conflicts: ["folder/deep/inner"],
  },
  {
    title: "changed in a folder that is now a link to itself",
    plan: (at) => {
      edit("folder/deep/inner")(at);
      edit("folder/added")(at);
    },
    rival: (at) => {
      renameSync(at("folder"), at("elsewhere"));
      symlinkSync("elsewhere", at("folder"));
    },
    conflicts: ["folder/added", "folder/deep/inner"],
  },
  {
    title: "added into a folder that is now a file",
    ...writing("folder/added"),
    rival: (at) => {
      rmSync(at("folder"), { recursive: true });
      writeFileSync(at("folder"), "a file\n");
    },
    conflicts: ["folder/added"],
  },
  {
    title: "many at once, every one of them named",
    plan: (at) => {
      for (const path of ["file", "spare", "folder/deep/inner", "new"]) edit(path)(at);
      remove("twin")(at);
    },
    rival: (at) => {
      for (const path of ["file", "folder/deep/inner", "new"]) writeFileSync(at(path), "mine\n");
      writeFileSync(at("twin/deep/mine"), "mine\n");
    },
    conflicts: ["file", "folder/deep/inner", "new", "twin"],
  },
  {
    title: "edits elsewhere are kept",
    ...writing("file"),
    rival: (at) => {
      writeFileSync(at("spare"), "mine\n");
      writeFileSync(at("folder/deep/inner"), "mine\n");
      unlinkSync(at("link"));
      linkSync(at("spare"), at("another-name"));
    },
    conflicts: [],
    afterwards: (at) => {
      assert.equal(text(at("file")), "the plan's\n");
      assert.equal(text(at("another-name")), "mine\n");
      assert.equal(text(at("folder/deep/inner")), "mine\n");
      assert.throws(() => text(at("link")));
    },
  },
];

function relink(path: string, target: string): void {
  rmSync(path);
  symlinkSync(target, path);
}

function addFolder(content: string): (at: (path: string) => string) => void {
  return (at) => {
    mkdirSync(at("new-folder"));
    writeFileSync(at("new-folder/x"), content);
  };
}
