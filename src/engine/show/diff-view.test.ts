import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { describe, it } from "node:test";
import { NEEDS_ROOT, ODD_NAME, TreeFixture } from "../../../test/support/tree-fixture.ts";
import { type Change, diffViewOf } from "../../core/change.ts";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { DiffSides } from "./change-reader.ts";
import { shownChanges } from "./diff-view.ts";

const POINT = failpoint("test.diff-view");

const trees = TreeFixture.forEachTest();

const original = (path: string) => trees.inOriginal(path);
const sandbox = (path: string) => trees.inSandbox(path);
const sha256 = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");

function view(options: Partial<DiffSides> = {}) {
  return diffViewOf(
    shownChanges(trees.diff().changes, {
      original: trees.original,
      sandbox: trees.sandbox,
      policy: { allowSetid: false, allowDevices: false },
      originalIsBase: (now, before) => trees.originalIsBase(now, before),
      ...options,
    }),
  );
}

function changeOf(path: string, options?: Partial<DiffSides>): Change {
  const change = view(options).changes.find((each) => each.path === path);
  assert.ok(change, `${path} is not among the changes`);
  return change;
}

describe("shownChanges", () => {
  it("[D7] gives facts and digests of both sides, lines counted", () => {
    writeFileSync(original("f"), "a\nb\n");
    chmodSync(original("f"), 0o644);
    utimesSync(original("f"), 0, 1000.5);
    trees.copy();
    writeFileSync(sandbox("f"), "a\nB\nc\n");
    chmodSync(sandbox("f"), 0o600);
    trees.setTime("f", [1_700_000_000, 7]);
    const { uid, gid } = statSync(original("f"));
    assert.deepEqual(view(), {
      changes: [
        {
          path: "f",
          operation: "modified",
          kind: "file",
          before: {
            size: 4,
            mode: 0o644,
            uid,
            gid,
            mtime: "1970-01-01T00:16:40.500000000Z",
            digest: sha256("a\nb\n"),
          },
          after: {
            size: 6,
            mode: 0o600,
            uid,
            gid,
            mtime: "2023-11-14T22:13:20.000000007Z",
            digest: sha256("a\nB\nc\n"),
          },
          insertions: 2,
          deletions: 1,
        },
      ],
      stats: { added: 0, modified: 1, deleted: 0, insertions: 2, deletions: 1 },
    });
  });

  it("[D7] counts the lines of files that were added and deleted, and adds everything up", () => {
    mkdirSync(original("old"));
    writeFileSync(original("old/f"), "1\n2\n3");
    trees.copy();
    rmSync(sandbox("old").toString(), { recursive: true });
    mkdirSync(sandbox("new"));
    writeFileSync(sandbox("new/f"), "1\n2\n");
    const { changes, stats } = view();
    assert.deepEqual(
      changes.map(({ path, operation, insertions, deletions }) => [path, operation, insertions, deletions]),
      [
        ["new", "added", undefined, undefined],
        ["new/f", "added", 2, 0],
        ["old", "deleted", undefined, undefined],
        ["old/f", "deleted", 0, 3],
      ],
    );
    assert.deepEqual(stats, { added: 2, modified: 0, deleted: 2, insertions: 2, deletions: 3 });
    assert.equal(changes[3]?.before?.digest, sha256("1\n2\n3"));
  });

  it("[D7] recognises binary files on either side, and counts no lines of them", () => {
    writeFileSync(original("becomes"), "text\n");
    writeFileSync(original("was"), Buffer.from([1, 0, 2]));
    trees.copy();
    writeFileSync(sandbox("becomes"), Buffer.from([0]));
    writeFileSync(sandbox("was"), "text\n");
    writeFileSync(sandbox("new"), Buffer.from([0, 10]));
    for (const { path, binary, insertions, after } of view().changes) {
      assert.deepEqual([path, binary, insertions], [path, true, undefined]);
      assert.equal(after?.digest, sha256(readFileSync(sandbox(path))));
    }
  });

  it("[D7] gives a digest but no lines of a text that is too large, and does not read it into memory", () => {
    writeFileSync(original("large"), "a\n");
    trees.copy();
    truncateSync(sandbox("large"), 0);
    for (let at = 0; at < 65; at += 1) appendFileSync(sandbox("large"), Buffer.alloc(1024 * 1024, "x\n"));
    const change = changeOf("large");
    assert.deepEqual([change.binary, change.insertions, change.deletions], [undefined, undefined, undefined]);
    const independent = spawnSync("sha256sum", [sandbox("large").toString()], { encoding: "utf8" }).stdout;
    assert.equal(change.after?.digest, independent.slice(0, 64));
  });

  it("[D3] gives the targets of links, and of what became one", () => {
    symlinkSync("old", original("link"));
    writeFileSync(original("file"), "1\n2\n");
    symlinkSync("x", original("gone"));
    trees.copy();
    for (const name of ["link", "file", "gone"]) unlinkSync(sandbox(name));
    symlinkSync("new", sandbox("link"));
    symlinkSync(bytesFromPath(ODD_NAME), trees.inSandbox("file"));
    assert.deepEqual([changeOf("link").before?.target, changeOf("link").after?.target], ["old", "new"]);
    assert.equal(changeOf("gone").before?.target, "x");
    const file = changeOf("file");
    assert.deepEqual(
      [file.operation, file.kind, file.before?.size, file.deletions],
      ["typechanged", "symlink", 4, 2],
    );
    assert.equal(file.before?.digest, sha256("1\n2\n"));
  });

  it("reads no content where only metadata changed", () => {
    writeFileSync(original("f"), "text");
    trees.copy();
    chmodSync(sandbox("f"), 0o755);
    const change = changeOf("f");
    assert.deepEqual(
      [change.before?.digest, change.after?.digest, change.insertions],
      [undefined, undefined, undefined],
    );
    assert.equal(change.after?.mode, 0o755);
  });

  it("shows names that are not UTF-8, and the path that the caller maps to", () => {
    writeFileSync(original(ODD_NAME), "a\n");
    trees.copy();
    writeFileSync(sandbox(ODD_NAME), "b\n");
    assert.equal(changeOf(ODD_NAME).insertions, 1);
    assert.equal(changeOf(".", { mapPath: (path) => (path === ODD_NAME ? "." : path) }).deletions, 1);
  });

  it("[D5] shows fifos and sockets without opening them", () => {
    trees.copy();
    for (const kind of ["fifo", "socket"] as const) {
      trees.sandbox.createNode(POINT, kind, { kind, mode: 0o600, rdev: "0:0" } as Parameters<
        typeof trees.sandbox.createNode
      >[2]);
      const change = changeOf(kind);
      assert.deepEqual([change.kind, change.after?.mode, change.after?.size], [kind, 0o600, undefined]);
    }
  });

  it("gives no size of folders, whose size means nothing, and no mode of links, which have none", () => {
    trees.copy();
    mkdirSync(sandbox("d"));
    symlinkSync("x", sandbox("link"));
    assert.equal(changeOf("d").after?.size, undefined);
    assert.equal(changeOf("link").after?.mode, undefined);
  });

  it("leaves out what is gone meanwhile, and what is something else by now", () => {
    trees.copy();
    for (const name of ["gone", "link", "folder", "fifo"]) writeFileSync(sandbox(name), "a\n");
    mkdirSync(sandbox("parent"));
    writeFileSync(sandbox("parent/f"), "a\n");
    symlinkSync("x", sandbox("was a link"));
    const { changes } = trees.diff();
    for (const name of ["gone", "link", "folder", "fifo", "was a link"]) unlinkSync(sandbox(name));
    symlinkSync("/etc/hostname", sandbox("link"));
    mkdirSync(sandbox("folder"));
    spawnSync("mkfifo", [sandbox("fifo").toString()]);
    writeFileSync(sandbox("was a link"), "");
    renameSync(sandbox("parent"), sandbox("elsewhere"));
    symlinkSync("elsewhere", sandbox("parent"));
    const shown = diffViewOf(
      shownChanges(changes, {
        original: trees.original,
        sandbox: trees.sandbox,
        policy: { allowSetid: false, allowDevices: false },
        originalIsBase: () => true,
      }),
    );
    assert.equal(shown.changes.length, 7);
    for (const { after, insertions } of shown.changes)
      assert.deepEqual([after?.digest, after?.target, insertions], [undefined, undefined, undefined]);
  });
});

describe("the warnings of a diff", () => {
  it("say that the original changed meanwhile, and then nothing is said of what was in it", () => {
    for (const name of ["modified", "deleted", "same"]) writeFileSync(original(name), "a\n");
    trees.copy();
    writeFileSync(sandbox("modified"), "b\n");
    unlinkSync(sandbox("deleted"));
    writeFileSync(sandbox("same"), "b\n");
    for (const name of ["modified", "deleted"]) writeFileSync(original(name), "rival\n");
    for (const name of ["modified", "deleted"]) {
      const change = changeOf(name);
      assert.deepEqual(change.warnings, ["the original changed meanwhile"]);
      assert.deepEqual(
        [change.before?.digest, change.before?.size, change.insertions],
        [undefined, 2, undefined],
      );
    }
    assert.equal(changeOf("same").warnings, undefined);
  });

  it("notice that the original changes while it is read", () => {
    writeFileSync(original("f"), "a\n");
    trees.copy();
    writeFileSync(sandbox("f"), "b\n");
    let asked = 0;
    const originalIsBase = () => {
      asked += 1;
      return asked === 1;
    };
    const change = changeOf("f", { originalIsBase });
    assert.deepEqual(
      [asked, change.before?.digest, change.warnings],
      [2, undefined, ["the original changed meanwhile"]],
    );
  });

  it("say that this user may not read the content, of which nothing is said then", {
    skip: NEEDS_ROOT,
  }, () => {
    writeFileSync(original("f"), "a\n");
    trees.copy();
    writeFileSync(sandbox("f"), "b\n");
    chmodSync(sandbox("f"), 0o600);
    for (const path of ["", "original", "sandbox"]) chmodSync(`${trees.root}/${path}`, 0o755);
    const { changes } = trees.diff();
    process.seteuid?.(65_534);
    try {
      const [change] = diffViewOf(
        shownChanges(changes, {
          original: trees.original,
          sandbox: trees.sandbox,
          policy: { allowSetid: false, allowDevices: false },
          originalIsBase: () => true,
        }),
      ).changes;
      assert.deepEqual(change?.warnings, ["its content may not be read by this user"]);
      assert.deepEqual(
        [change?.before?.digest, change?.after?.digest, change?.insertions],
        [sha256("a\n"), undefined, undefined],
      );
    } finally {
      process.seteuid?.(0);
    }
  });

  it("are silent about work in place, where there is no other original", () => {
    writeFileSync(original("f"), "a\n");
    linkSync(original("f"), trees.root.concat("/outside"));
    trees.copy();
    writeFileSync(sandbox("f"), "b\n");
    const { changes } = trees.diff();
    const shown = diffViewOf(
      shownChanges(changes, {
        sandbox: trees.sandbox,
        policy: { allowSetid: true, allowDevices: true },
        originalIsBase: () => false,
      }),
    );
    assert.deepEqual(
      [shown.changes[0]?.warnings, shown.changes[0]?.after?.digest],
      [undefined, sha256("b\n")],
    );
  });

  it("[A12] say that set-id bits made in a sandbox do not land, unless the policy lets them", () => {
    writeFileSync(original("f"), "a\n");
    trees.copy();
    chmodSync(sandbox("f"), 0o4755);
    assert.deepEqual(changeOf("f").warnings, ["lands without its set-id bits (sandbox.allow_setid)"]);
    assert.equal(changeOf("f", { policy: { allowSetid: true, allowDevices: false } }).warnings, undefined);
  });

  it("[A12] say that a device made in a sandbox does not land", { skip: NEEDS_ROOT }, () => {
    trees.copy();
    trees.sandbox.createNode(POINT, "disk", { kind: "block-device", mode: 0o600, rdev: "7:0" } as Parameters<
      typeof trees.sandbox.createNode
    >[2]);
    const change = changeOf("disk");
    assert.deepEqual(change.warnings, [
      "a device node made in a sandbox does not land (sandbox.allow_devices)",
    ]);
    assert.equal(change.kind, "device");
  });

  it("say that a file has names outside of the plan, and not if all its names are inside", () => {
    for (const name of ["inside 1", "outside"]) writeFileSync(original(name), "a\n");
    linkSync(original("inside 1"), original("inside 2"));
    linkSync(original("outside"), trees.root.concat("/elsewhere"));
    trees.copy();
    for (const name of ["inside 1", "outside"]) writeFileSync(sandbox(name), "b\n");
    assert.deepEqual(changeOf("outside").warnings, [
      "has other names outside the plan, which keep the old content",
    ]);
    for (const name of ["inside 1", "inside 2"]) assert.equal(changeOf(name).warnings, undefined);
  });

  it("say nothing of other names where a name is deleted or only metadata changes, which all names share", () => {
    for (const name of ["deleted", "mode"]) {
      writeFileSync(original(name), "a\n");
      linkSync(original(name), trees.root.concat(`/${name}`));
    }
    trees.copy();
    unlinkSync(sandbox("deleted"));
    chmodSync(sandbox("mode"), 0o600);
    for (const name of ["deleted", "mode"]) assert.equal(changeOf(name).warnings, undefined);
  });
});
