import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { afterEach, beforeEach, describe, it } from "node:test";
import { NEEDS_ROOT, ODD_NAME, TreeFixture } from "../../../test/support/tree-fixture.ts";
import { BusyError } from "../../core/errors/errors.ts";
import { bytesFromPath, joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { failedWith } from "../../system/calls/errno.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs, writeXattrs } from "../../system/calls/xattrs.ts";
import { armFailpoints, failpoint } from "../../system/failpoints.ts";
import { runAtOnce } from "../work/pace.ts";
import { type CopiedEntry, type CopyOptions, copyEntry, copyTree } from "./copy-tree.ts";

const POINT = failpoint("test.copy-tree");

const trees = TreeFixture.forEachTest();

afterEach(() => {
  armFailpoints(undefined);
});

const original = (path: string) => trees.inOriginal(path);
const copied = (path: string) => trees.inSandbox(path);
const text = (path: string) => readFileSync(copied(path), "utf8");

function copy(options: Partial<CopyOptions> = {}): readonly CopiedEntry[] {
  const entries: CopiedEntry[] = [];
  runAtOnce(
    copyTree(trees.original, trees.sandbox, {
      data: "share",
      onCopied: (entry) => entries.push(entry),
      ...options,
    }),
  );
  return entries;
}

/** All that a copy should keep, of everything in a folder. */
function inventory(folder: Folder, path = ROOT_PATH, found: { [path: string]: unknown } = {}) {
  found[path] = [kept(folder.ownFacts()), readXattrs(folder, ROOT_PATH)];
  for (const name of folder.names()) {
    const facts = folder.facts(name) as Facts;
    const childPath = joinPath(path, name);
    if (facts.kind === "directory") {
      using below = folder.openChild(name);
      inventory(below, childPath, found);
    } else {
      const target = facts.kind === "symlink" ? folder.readLink(name) : undefined;
      found[childPath] = [kept(facts), facts.nlink, facts.size, facts.rdev, target, readXattrs(folder, name)];
    }
  }
  return found;
}

function kept({ kind, mode, uid, gid, mtime }: Facts): unknown {
  return { kind, mode, uid, gid, mtime };
}

describe("copyTree", () => {
  it("[A11] keeps content, modes, times to the nanosecond, links, fifos, attributes and names of any bytes", () => {
    mkdirSync(original("d/empty"), { recursive: true });
    writeFileSync(original("d/f"), "content", { mode: 0o640 });
    writeFileSync(original(ODD_NAME), "");
    symlinkSync("/nowhere", original("link"));
    symlinkSync(bytesFromPath(ODD_NAME), original("odd link"));
    linkSync(original("d/f"), original("second name"));
    trees.original.createNode(POINT, "fifo", { kind: "fifo", mode: 0o604, rdev: "0:0" } as Facts);
    writeXattrs(POINT, trees.original, "d", { "user.drydock": "AAE=" }, {});
    writeXattrs(POINT, trees.original, "second name", { "user.drydock": "" }, {});
    writeFileSync(original("read-only"), "");
    writeXattrs(POINT, trees.original, "read-only", { "user.drydock": "AAE=" }, {});
    chmodSync(original("read-only"), 0o444);
    chmodSync(original("d/empty"), 0o500);
    chmodSync(original("d"), 0o1555);
    trees.original.setTimes(POINT, "link", { mtime: [1000, 123_456_789] });
    trees.original.setTimes(POINT, "d", { mtime: [-5, 1] });
    trees.original.setTimes(POINT, ROOT_PATH, { mtime: [2000, 2] });
    copy();
    assert.deepEqual(inventory(trees.sandbox), inventory(trees.original));
    assert.equal(text("d/f"), "content");
    assert.notEqual(trees.facts("sandbox", "d/f")?.ino, trees.facts("original", "d/f")?.ino);
    for (const side of [original, copied]) chmodSync(side("d"), 0o755);
  });

  it("[A11] keeps owners, set-id bits, capabilities and devices", { skip: NEEDS_ROOT }, () => {
    writeFileSync(original("f"), "content");
    chownSync(original("f"), 1234, 5678);
    chmodSync(original("f"), 0o6755);
    writeXattrs(POINT, trees.original, "f", { "security.capability": "AQAAAgAgAAAAAAAAAAAAAAAAAAA=" }, {});
    trees.original.createNode(POINT, "tty", { kind: "device", mode: 0o600, rdev: "5:0" } as Facts);
    copy();
    assert.deepEqual(inventory(trees.sandbox), inventory(trees.original));
    assert.equal(Object.keys(readXattrs(trees.sandbox, "f")).length, 1);
  });

  it("keeps the holes of a sparse file", () => {
    const fd = openSync(original("sparse"), "w");
    writeSync(fd, "begin", 0);
    writeSync(fd, "middle", 20_000_000);
    closeSync(fd);
    truncateSync(original("sparse"), 64_000_000);
    copy({ data: "copy" });
    assert.ok(readFileSync(copied("sparse")).equals(readFileSync(original("sparse"))));
    assert.ok(statSync(copied("sparse")).blocks * 512 < 1_000_000);
  });

  it("copies files of every size around those of its buffers", () => {
    const sizes = [0, 1, 128 * 1024 - 1, 128 * 1024, 128 * 1024 + 1, 9 * 1024 * 1024];
    for (const size of sizes) writeFileSync(original(`${size}`), Buffer.alloc(size, "0123456789"));
    copy({ data: "copy" });
    for (const size of sizes)
      assert.ok(readFileSync(copied(`${size}`)).equals(readFileSync(original(`${size}`))), `${size}`);
  });

  it("reports each entry once, a folder after all that is in it, the root last", () => {
    mkdirSync(original("a/b"), { recursive: true });
    writeFileSync(original("a/b/f"), "");
    symlinkSync("target", original("a/link"));
    const entries = copy();
    const paths = entries.map(({ path }) => path);
    assert.deepEqual([...paths].sort(), [".", "a", "a/b", "a/b/f", "a/link"]);
    assert.ok(paths.indexOf("a/b/f") < paths.indexOf("a/b") && paths.indexOf("a/b") < paths.indexOf("a"));
    assert.equal(paths.at(-1), ".");
    assert.equal(entries.find(({ path }) => path === "a/link")?.target, "target");
    const { original: from, copy: to } = entries.find(({ path }) => path === "a/b/f")!;
    assert.deepEqual(
      [from.ino, to.ino],
      [trees.facts("original", "a/b/f")?.ino, trees.facts("sandbox", "a/b/f")?.ino],
    );
  });

  it("leaves out what the filter refuses, with all that is in it, and gives the modes it is told to", () => {
    mkdirSync(original("out/deep"), { recursive: true });
    writeFileSync(original("out/deep/f"), "");
    writeFileSync(original("in"), "", { mode: 0o777 });
    copy({ filter: (path) => path !== "out", mode: (_, facts) => facts.mode & 0o700 });
    assert.deepEqual(readdirSync(copied("")), ["in"]);
    assert.equal(trees.facts("sandbox", "in")?.mode, 0o700);
  });

  it("yields now and then, so that others get their turn", () => {
    for (let at = 0; at < 200; at += 1) writeFileSync(original(`${at}`), "");
    const counts = [...copyTree(trees.original, trees.sandbox, { data: "share" })];
    assert.ok(counts.length > 1 && counts.every((count) => count > 0));
  });

  it("holds few descriptors at any depth, and goes on in the folders above", () => {
    const [depth, most] = [300, 250];
    let folder = ROOT_PATH;
    for (let level = 0; level < depth; level += 1) {
      folder = joinPath(folder, "d");
      mkdirSync(original(folder));
      for (const name of ["a", "z"]) writeFileSync(original(joinPath(folder, name)), `${level}${name}`);
    }
    let open = 0;
    const entries = copy({
      filter: () => {
        open = Math.max(open, readdirSync("/proc/self/fd").length);
        return true;
      },
    });
    assert.ok(open < most, `${open} were open`);
    assert.equal(entries.length, 3 * depth + 1);
    assert.deepEqual(inventory(trees.sandbox), inventory(trees.original));
  });

  it("copies a file that can't share its blocks", () => {
    writeFileSync(original("f"), "content");
    copy({ data: "share" });
    assert.equal(readFileSync(trees.sandbox.label("f"), "utf8"), "content");
  });

  it("passes on an error of the disk", () => {
    writeFileSync(original("f"), "content");
    armFailpoints("copy.write=enospc");
    assert.throws(
      () => copy({ data: "copy" }),
      (thrown) => failedWith(thrown, "ENOSPC"),
    );
  });
});

describe("copyEntry", () => {
  it("copies one entry under another name, and reports it by the path it is given", () => {
    mkdirSync(original("a/b"), { recursive: true });
    writeFileSync(original("a/b/f"), "content");
    linkSync(original("a/b/f"), original("a/b/g"));
    const paths: string[] = [];
    runAtOnce(
      copyEntry(
        { folder: trees.original, name: "a" },
        { folder: trees.sandbox, name: "slot" },
        { data: "share", onCopied: ({ path }) => paths.push(path) },
        "x/a",
      ),
    );
    assert.equal(text("slot/b/f"), "content");
    assert.equal(trees.facts("sandbox", "slot/b/f")?.ino, trees.facts("sandbox", "slot/b/g")?.ino);
    assert.deepEqual(paths.sort(), ["x/a", "x/a/b", "x/a/b/f", "x/a/b/g"]);
  });

  it("copies nothing where there is nothing", () => {
    const to = { folder: trees.sandbox, name: "slot" };
    runAtOnce(copyEntry({ folder: trees.original, name: "gone" }, to, { data: "share" }));
    assert.deepEqual(readdirSync(copied("")), []);
  });

  it("goes on sharing inodes over several copies that share their map", () => {
    writeFileSync(original("one"), "content");
    linkSync(original("one"), original("two"));
    const options: CopyOptions = { data: "share", links: new Map() };
    for (const name of ["one", "two"])
      runAtOnce(copyEntry({ folder: trees.original, name }, { folder: trees.sandbox, name }, options));
    assert.equal(trees.facts("sandbox", "one")?.ino, trees.facts("sandbox", "two")?.ino);
  });
});

/** Somebody acts right before the entry at this path is opened, after it was listed; the first time only. */
function rivalBefore(path: string, act: () => void): NonNullable<CopyOptions["filter"]> {
  let done = false;
  return (at) => {
    if (at === path && !done) {
      done = true;
      act();
    }
    return true;
  };
}

describe("copying what somebody changes meanwhile", () => {
  beforeEach(() => {
    mkdirSync(original("d"));
    for (const name of ["d/inside", "f", "other"]) writeFileSync(original(name), "before");
    symlinkSync("before", original("link"));
  });

  const paths = (entries: readonly CopiedEntry[]) => entries.map(({ path }) => path).sort();

  for (const [what, name] of [
    ["file", "f"],
    ["folder", "d"],
    ["link", "link"],
  ] as const) {
    it(`leaves out a ${what} that is gone before it is its turn`, () => {
      const entries = copy({
        filter: rivalBefore(name, () => rmSync(original(name).toString(), { recursive: true })),
      });
      const left = [".", "d", "d/inside", "f", "link", "other"].filter(
        (path) => path !== name && !path.startsWith(`${name}/`),
      );
      assert.deepEqual(paths(entries), left);
      assert.equal(trees.facts("sandbox", name), undefined);
    });

    it(`copies what is there now where there was a ${what}`, () => {
      const replace = () => {
        rmSync(original(name).toString(), { recursive: true });
        if (what === "file") symlinkSync("now", original(name));
        else writeFileSync(original(name), "now");
      };
      const entries = copy({ filter: rivalBefore(name, replace) });
      assert.equal(entries.filter(({ path }) => path === name).length, 1);
      assert.equal(what === "file" ? readlinkSync(copied(name)) : text(name), "now");
    });
  }

  it("copies a folder that took the place of a file", () => {
    const replace = () => {
      unlinkSync(original("f"));
      renameSync(original("d"), original("f"));
    };
    copy({ filter: rivalBefore("f", replace) });
    assert.equal(text("f/inside"), "before");
  });

  it("never follows a link that took the place of a folder", () => {
    const replace = () => {
      renameSync(original("d"), trees.root.concat("/outside"));
      symlinkSync("../outside", original("d"));
    };
    copy({ filter: rivalBefore("d", replace) });
    assert.equal(readlinkSync(copied("d")), "../outside");
  });

  it("[D2] copies a file again that changed while it was copied, and reports only the last", () => {
    let changed = false;
    const mode: CopyOptions["mode"] = (path, facts) => {
      // Asked for when the file is open already.
      if (path === "f" && !changed) appendFileSync(original("f"), ", and after");
      if (path === "f") changed = true;
      return facts.mode;
    };
    const entries = copy({ mode });
    assert.equal(text("f"), "before, and after");
    assert.deepEqual(paths(entries), [".", "d", "d/inside", "f", "link", "other"]);
    assert.equal(entries.find(({ path }) => path === "f")?.original.size, "before, and after".length);
  });

  it("finds nothing to report in a copy of a file that changed while it was copied", () => {
    let changed = false;
    trees.copy({
      data: "share",
      mode: (path, facts) => {
        if (path === "f" && !changed) appendFileSync(original("f"), ", and after");
        if (path === "f") changed = true;
        return facts.mode;
      },
    });
    assert.deepEqual(trees.changes(), []);
  });

  it("leaves out a file that is deleted while it is copied, and forgets that other names could share it", () => {
    linkSync(original("f"), original("z"));
    const mode: CopyOptions["mode"] = (path, facts) => {
      if (path === "f" || path === "z") rmSync(original(path), { force: true });
      return facts.mode;
    };
    const entries = copy({ mode });
    assert.deepEqual(paths(entries), [".", "d", "d/inside", "link", "other"]);
    assert.deepEqual(readdirSync(copied("")).sort(), ["d", "link", "other"]);
  });

  it("gives up on a file that never stays the same, and says which", () => {
    let at = 0;
    const mode: CopyOptions["mode"] = (path, facts) => {
      at += 1;
      if (path === "f") utimesSync(original("f"), at, at);
      return facts.mode;
    };
    assert.throws(
      () => copy({ mode }),
      (thrown) => thrown instanceof BusyError && thrown.message.includes("/f keeps changing"),
    );
  });
});
