import assert from "node:assert/strict";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fastFolder } from "../support/fast-folder.ts";
import { mountMemory, whyNoImages } from "../support/file-systems.ts";
import { TestRepository } from "../support/test-repository.ts";
import { callSandboxes } from "./sandbox-calls.ts";
import { checkpoint, restore } from "./sandbox-scenarios.ts";
import {
  apply,
  applyAndUndo,
  assertNothingLeft,
  cancel,
  create,
  rollback,
  runScenario,
  type Scenario,
  undo,
  write,
} from "./scenarios.ts";
import { PLAN, type World, type WorldOptions } from "./world.ts";

/** A folder and a checkout whose user is at work in it, in one plan. */
export const MIXED: WorldOptions = {
  strategy: ["filesystem_copy", "git_worktree"],
  isSmall: true,
  places: [{ folder: fastFolder() }, { folder: fastFolder(), isCheckout: true }],
};
/** The same, with the state on another file system, where a repository can be apart from its checkout. */
export const APART: WorldOptions = {
  ...MIXED,
  get statePlace() {
    elsewhere ??= whyNoImages() === undefined ? mountMemory().path : tmpdir();
    return elsewhere;
  },
};
/** A folder and a checkout at its own path, in one plan. */
export const IN_PLACE: WorldOptions = {
  strategy: ["filesystem_copy", "overlay"],
  isSmall: true,
  places: [{ folder: fastFolder() }, { folder: fastFolder(), isCheckout: true, isInPlace: true }],
};
let elsewhere: string | undefined;

function checkoutIn(world: World): TestRepository {
  return new TestRepository(world.originals[1]?.location ?? "");
}

/**
 * A worktree begins with what is committed, which is not what a checkout with somebody at work looks like.
 */
const createWorktree: Scenario = {
  ...create,
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in create"), "old");
    const [plan] = await world.with(({ plans }) => plans.list({ all: true }));
    if (plan === undefined || plan.state === "cancelled") return await assertNothingLeft(world);
    await world.with(async ({ plans }) => {
      assert.deepEqual((await plans.diff(PLAN)).changes, []);
      await world.work(plans);
    });
    await applyAndUndo(world, sides);
  },
};

/** Whether what was saved is there again is what the diff says. */
const checkpointOfWork: Scenario = { ...checkpoint, verify: verifyWork };

/**
 * Of a worktree with things that no tree of git holds: an empty folder, a mode, a fifo's place taken by a
 * folder.
 */
const restoreOfWork: Scenario = {
  ...restore,
  arrange: async (world) => {
    const digest = await world.plan();
    const path = await world.with(({ plans }) => plans.path(PLAN, "r1"));
    mkdirSync(join(path, "empty"), { mode: 0o750 });
    chmodSync(join(path, "same"), 0o640);
    await world.with((drydock) => callSandboxes(drydock, PLAN, "checkpoint"));
    rmdirSync(join(path, "empty"));
    mkdirSync(join(path, "later"));
    chmodSync(join(path, "same"), 0o604);
    writeFileSync(join(path, "folder/changes"), "since then\n");
    return digest;
  },
  verify: verifyWork,
};

async function verifyWork({ world, sides }: Parameters<Scenario["verify"]>[0]): Promise<void> {
  assert.equal(world.side(sides, "after a crash"), "old");
  await world.with(async ({ plans }) => {
    await plans.diff(PLAN);
    await plans.apply(PLAN);
    await plans.undo(PLAN);
  });
  assert.equal(world.side(sides, "after the undo"), "old");
  await assertNothingLeft(world);
}

/**
 * The user commits while the plan is open; his branch has a name with a folder, is packed and has no log, and
 * his repository is elsewhere.
 */
export const merge: Scenario = {
  name: "apply onto a branch that moved",
  operation: "apply",
  arrange: async (world) => {
    const repository = checkoutIn(world);
    repository.git("branch", "-m", "main", "feature/deep");
    const [inside, elsewhere] = [join(repository.path, ".git"), join(dirname(world.stateDir), "repository")];
    cpSync(inside, elsewhere, { recursive: true, preserveTimestamps: true });
    rmSync(inside, { recursive: true });
    writeFileSync(inside, `gitdir: ${elsewhere}\n`);
    const digest = await world.plan();
    repository.write("of-the-user", "committed meanwhile\n");
    repository.git("add", "of-the-user");
    repository.git("commit", "-q", "-m", "meanwhile", "--", "of-the-user");
    repository.git("pack-refs", "--all");
    for (const folder of ["logs", "refs/heads/feature"])
      rmSync(join(elsewhere, folder), { recursive: true, force: true });
    return digest;
  },
  verify: async ({ world }) => {
    const repository = checkoutIn(world);
    const { state } = await world.with(({ plans }) => plans.show(PLAN));
    if (state === "open") await world.with(({ plans }) => plans.apply(PLAN));
    assert.equal(repository.git("symbolic-ref", "HEAD"), "refs/heads/feature/deep");
    assert.deepEqual(
      ["of-the-user", "changes"].map((name) => repository.git("show", `HEAD:${name}`)),
      ["committed meanwhile", "changed"],
    );
    await world.with(({ plans }) => plans.undo(PLAN));
    assert.deepEqual(
      ["of-the-user", "changes"].map((name) => repository.git("show", `HEAD:${name}`)),
      ["committed meanwhile", "changes"],
    );
    assert.equal(repository.read("dirty"), "dirty, of the user\n");
    assert.equal(repository.git("fsck", "--strict", "--no-dangling"), "");
    await assertNothingLeft(world);
  },
};

/** From the checkout as it is: what the user has not committed stays so. */
export const applyFromCheckout: Scenario = {
  name: "apply of a worktree that began with uncommitted files",
  operation: "apply",
  arrange: async (world) => {
    const resources = world.resources().map((one, at) => (at === 1 ? { ...one, from: "checkout" } : one));
    return await world.with(async ({ plans }) => {
      await plans.create({ name: PLAN, resources });
      await world.work(plans);
      return (await plans.diff(PLAN)).digest;
    });
  },
  verify: async ({ world, sides }) => {
    const side = world.side(sides, "after a crash in apply");
    if (side === "old") await applyAndUndo(world, sides);
    else await world.with(({ plans }) => plans.undo(PLAN));
    await assertNothingLeft(world);
  },
};

/** A git of ours was killed while it changed a ref of ours. */
export const cancelAfterKilledGit: Scenario = {
  ...cancel,
  name: "cancel after a git of ours was killed",
  isAsArranged: undefined,
  arrange: async (world) => {
    const digest = await cancel.arrange(world);
    const refs = join(checkoutIn(world).path, ".git/refs/drydock");
    const [folder = ""] = readdirSync(refs, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith("base"),
    );
    writeFileSync(join(refs, `${folder}.lock`), "");
    return digest;
  },
};

/** An undo that failed is tried again. */
export const undoAgain: Scenario = {
  ...undo,
  name: "undo after one that failed",
  isAsArranged: undefined,
  arrange: async (world) => {
    const digest = await undo.arrange(world);
    await runScenario(undo, world, { failpoints: "git.undo-index:1=error" });
    return digest;
  },
};

/**
 * All of a landing is in its place, but that can't be recorded: it is given up, and the branch and the index
 * go back.
 */
export const giveUpLanded: Scenario = {
  ...apply,
  name: "give up a landing in a checkout",
  isAsArranged: undefined,
  operation: "give-up",
  always: "git-landing.done=error",
  arrange: async (world) => {
    const digest = await apply.arrange(world);
    await runScenario(apply, world, { failpoints: "git-landing.done:1=kill" });
    return digest;
  },
};

/**
 * The user's hooks are run. The last of them, which tells others of what has landed, is run once at most, and
 * only if it has.
 */
export const applyWithHooks: Scenario = {
  ...apply,
  name: "apply with hooks",
  arrange: async (world) => {
    writeFileSync(join(world.stateDir, "../drydock.yaml"), "sandbox: { git: { run_hooks: true } }\n");
    const hooks = join(checkoutIn(world).path, ".git/hooks");
    for (const name of ["commit-msg", "pre-merge-commit", "post-merge"]) {
      writeFileSync(join(hooks, name), `#!/bin/sh\necho ${name} >> '${hooksLog(world)}'\n`);
      chmodSync(join(hooks, name), 0o755);
    }
    return await apply.arrange(world);
  },
  verify: async (recovered) => {
    const { world, sides } = recovered;
    const side = world.side(sides, "after a crash in apply with hooks");
    const told = readFileSync(hooksLog(world), { encoding: "utf8", flag: "a+" }).split("\n");
    const times = told.filter((line) => line === "post-merge").length;
    assert.ok(
      times <= (side === "new" ? 1 : 0),
      `post-merge was run ${times} times, and the originals are ${side}`,
    );
    await apply.verify(recovered);
  },
};

function hooksLog(world: World): string {
  return join(world.stateDir, "../hooks.log");
}

/** What is done with a folder and a checkout. */
export const GIT_SCENARIOS = {
  apply,
  undo,
  rollback,
  cancel,
  write,
  create: createWorktree,
  checkpoint: checkpointOfWork,
  restore: restoreOfWork,
} as const;
