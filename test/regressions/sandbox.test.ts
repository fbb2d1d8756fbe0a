import assert from "node:assert/strict";
import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { chdir, cwd } from "node:process";
import { describe, it } from "node:test";
import { AtomicCommitError, UnsupportedError } from "../../src/index.ts";
import { Workshop } from "../commit/workshop.ts";
import { lastError, lastResult } from "../rivals/drydock-process.ts";
import { Scene } from "../security/scene.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { TreeHand } from "../support/tree-hand.ts";
import { snapshotTree } from "../support/tree-snapshot.ts";
import { actDuring } from "./during-call.ts";

const needsRoot = process.geteuid?.() === 0 ? {} : { skip: "not root, so no capability can be set" };

describe("What is in a sandbox", () => {
  // Came from: a dry run took a file that was held open for writing for one that could not be given back, and
  // left a copy beside it.
  it("[A7] is as before after a dry run, also what is held open for writing", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    const sandbox = await drydock.plans.path(plan.id);
    const log = openSync(join(sandbox, "old.txt"), "a");
    try {
      writeSync(log, "and more\n");
      await drydock.plans.apply(plan.id, { dryRun: true });
      assert.deepEqual(readdirSync(sandbox), ["old.txt"]);
    } finally {
      closeSync(log);
    }
    await drydock.plans.apply(plan.id);
    assert.deepEqual(readdirSync(workshop.at("a")), ["old.txt"]);
    assert.equal(workshop.text("a/old.txt"), "old of a\nand more\n");
  });

  // Came from: set-id bits were looked for before the entry was taken out of the sandbox, so one set in
  // between landed.
  it("[A12] lands without a set-id bit that came after the look at it", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    const tool = join(await drydock.plans.path(plan.id), "tool");
    writeFileSync(tool, "#!/bin/sh\n");
    const end = await actDuring(applyTask(workshop, plan.id), "stage.record:1=stop", () =>
      chmodSync(tool, 0o4755),
    );
    assert.equal(lastResult<{ state: string }>(end).state, "applied");
    assert.equal(lstatSync(workshop.at("a/tool")).mode & 0o7000, 0);
  });

  // Came from: file capabilities give the power that set-id bits give, and landed without a word.
  it(
    "[A12] lands without a file capability, on a program or not yet one, and the diff of a known file says so",
    needsRoot,
    async () => {
      await using workshop = new Workshop();
      const drydock = await workshop.open();
      const plan = await drydock.plans.create({
        resources: [{ location: "a", strategy: "filesystem_copy" }],
      });
      const hand = new TreeHand(await drydock.plans.path(plan.id), "after");
      hand.file("program", "#!/bin/sh\n", 0o755);
      hand.file("not-yet", "#!/bin/sh\n", 0o644);
      for (const name of ["old.txt", "program", "not-yet"])
        hand.xattr(name, "security.capability", setUidCapability());
      const { changes } = await drydock.plans.diff(plan.id);
      assert.match(changes.find(({ path }) => path === "old.txt")?.warnings?.join() ?? "", /capability/);
      await drydock.plans.apply(plan.id);
      const landed = snapshotTree(workshop.at("a"));
      for (const name of ["old.txt", "program", "not-yet"])
        assert.doesNotMatch(landed.get(name) ?? "capability?", /capability/, name);
    },
  );

  // Came from: the digest was compared before the plan was locked, so what landed could be something else
  // than what was reviewed.
  it("[A12] lands only as reviewed: the digest is compared once nobody else can have the plan", async () => {
    await using workshop = new Workshop();
    const drydock = await workshop.open();
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    await drydock.plans.write(plan.id, "a", "old.txt", Buffer.from("reviewed"));
    const { digest } = await drydock.plans.diff(plan.id);
    const changed = join(await drydock.plans.path(plan.id), "old.txt");
    const task = { stateDir: workshop.stateDir, calls: [["apply", plan.id, { digest }]] as const };
    const end = await actDuring(task, "store.claim=stop", () => writeFileSync(changed, "not reviewed"));
    assert.match(lastError(end).message, /not what was reviewed/);
    assert.equal(workshop.text("a/old.txt"), "old of a\n");
  });

  // Came from: copies took the default ACL of the folder that the state directory is in, and landed with it.
  it("[A11] has no ACL from above the state directory, and gives the original none", async () => {
    await using workshop = new Workshop();
    mkdirSync(workshop.at("home"));
    new TreeHand(workshop.at("home"), "before").xattr(".", "system.posix_acl_default", openToNobody());
    mkdirSync(workshop.at("a/folder"));
    chmodSync(workshop.at("a/old.txt"), 0o600);
    const drydock = await workshop.open([], { stateDir: workshop.at("home/state") });
    const plan = await drydock.plans.create({ resources: [{ location: "a", strategy: "filesystem_copy" }] });
    const sandbox = await drydock.plans.path(plan.id);
    writeFileSync(join(sandbox, "old.txt"), "changed");
    writeFileSync(join(sandbox, "folder/new"), "new");
    for (const [path, line] of snapshotTree(sandbox)) assert.doesNotMatch(line, /acl/, path);
    await drydock.plans.apply(plan.id);
    for (const [path, line] of snapshotTree(workshop.at("a"))) assert.doesNotMatch(line, /acl/, path);
    assert.equal(lstatSync(workshop.at("a/old.txt")).mode & 0o777, 0o600);
  });
});

describe("A folder deeper than any stack", () => {
  // Came from: a sandbox with one could not be looked at, applied or even removed: "An error was suppressed
  // during disposal".
  it("[D1] in a sandbox is refused with what to do, and does not hinder the cancelling", async () => {
    await using scene = new Scene(mkdtempSync(join(fastFolder(), "drydock-deep-")));
    const { drydock, plan, sandbox } = await scene.plan();
    makeDeep(sandbox, 6000);
    const isClear = (thrown: unknown) => {
      assert.ok(thrown instanceof UnsupportedError || thrown instanceof AtomicCommitError);
      assert.match(thrown.message, /d\/d\/d.* is more than 1,000 folders deep/);
      assert.match(thrown.hint, /flatter/);
      return true;
    };
    await assert.rejects(drydock.plans.diff(plan.id), isClear);
    await assert.rejects(drydock.plans.apply(plan.id), isClear);
    assert.equal((await drydock.plans.show(plan.id)).state, "open");
    await drydock.plans.cancel(plan.id);
    assert.deepEqual(readdirSync(join(scene.stateDir, "sandboxes")), []);
  });

  // Came from: the copy of a tree ran out of stack before the limit.
  it("[A11] that is no deeper than the limit is copied, landed and taken back", async () => {
    await using scene = new Scene(mkdtempSync(join(fastFolder(), "drydock-deep-")));
    makeDeep(scene.at("original"), 1000);
    const { drydock, plan, sandbox } = await scene.plan();
    mkdirSync(join(sandbox, "new"));
    makeDeep(join(sandbox, "new"), 999);
    assert.equal((await drydock.plans.diff(plan.id)).changes.length, 1000);
    await drydock.plans.apply(plan.id);
    await drydock.plans.undo(plan.id);
    assert.deepEqual(readdirSync(scene.at("original")).sort(), ["d", "file", "folder"]);
  });
});

/** Step by step, because no path may be that long. */
function makeDeep(folder: string, depth: number): void {
  const before = cwd();
  try {
    chdir(folder);
    for (let made = 0; made < depth; made += 1) {
      mkdirSync("d");
      chdir("d");
    }
  } finally {
    chdir(before);
  }
}

/** As in capabilities(7): revision 2, effective, CAP_SETUID permitted. */
function setUidCapability(): Buffer {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt32LE(0x02000001, 0);
  bytes.writeUInt32LE(1 << 7, 4);
  return bytes;
}

/** As in acl(5): everything for the user nobody, in whatever is made there. */
function openToNobody(): Buffer {
  const NO_ID = 0xffffffff;
  const entries = [
    [0x01, 7, NO_ID],
    [0x02, 7, 65534],
    [0x04, 5, NO_ID],
    [0x10, 7, NO_ID],
    [0x20, 5, NO_ID],
  ] as const;
  const bytes = Buffer.alloc(4 + 8 * entries.length);
  bytes.writeUInt32LE(2, 0);
  for (const [at, [tag, bits, id]] of entries.entries()) {
    bytes.writeUInt16LE(tag, 4 + 8 * at);
    bytes.writeUInt16LE(bits, 6 + 8 * at);
    bytes.writeUInt32LE(id, 8 + 8 * at);
  }
  return bytes;
}

function applyTask(workshop: Workshop, plan: string) {
  return { stateDir: workshop.stateDir, calls: [["apply", plan]] as const };
}
