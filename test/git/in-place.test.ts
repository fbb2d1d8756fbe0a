import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GitWorkshop, IN_PLACE, type OpenPlan, stateOf } from "./git-workshop.ts";

const resources = [IN_PLACE];
/** Others work inside a plan only by commands; test/git/in-place-run.test.ts has those. */
const skip = process.geteuid?.() === 0 ? false : "only root has a path to the sandbox";

/** What the diff says of the repository. */
async function notes(plan: OpenPlan): Promise<string[]> {
  const { changes } = await plan.drydock.plans.diff(plan.id);
  return changes.flatMap(({ path, note }) => (note === undefined ? [] : [`${path}: ${note}`]));
}

describe("A checkout at its own path", { skip }, () => {
  it("[G1][G8] lands commits as they are, with their lines in the logs, and everything else as it is", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("build/made.log", "ignored\n");
    repository.write("dirty", "of the user\n");
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    assert.equal(inside.read("build/made.log"), "ignored\n");
    assert.equal(inside.status(), "?? dirty");
    inside.write("src/app.ts", "export const app = 2;\n");
    inside.git("commit", "-q", "-am", "second");
    inside.write("new.txt", "new\n");
    inside.git("add", "new.txt");
    inside.git("commit", "-q", "-m", "third");
    inside.write("readme.txt", "not committed\n");
    inside.write("src/old.ts", "staged\n");
    inside.git("add", "src/old.ts");
    inside.write("build/made.log", "ignored, too\n");
    const [head, status, log] = [inside.head(), inside.status(), inside.git("reflog")];
    assert.deepEqual(await notes(plan), [
      ".git/refs/heads/main: 2 commits on main: second; third",
      ".git/index: 1 path staged and not committed",
    ]);
    assert.deepEqual(
      (await plan.changes()).filter((change) => change.includes(".git/objects")),
      [],
    );
    const before = stateOf(repository);
    const begin = repository.head();
    await plan.apply();
    assert.equal(repository.head(), head);
    assert.equal(repository.status(), status);
    assert.equal(repository.git("reflog"), log);
    assert.equal(repository.read("build/made.log"), "ignored, too\n");
    assert.equal(repository.read("dirty"), "of the user\n");
    repository.assertSound();
    assert.deepEqual(workshop.ownRefs(), []);
    await plan.drydock.plans.undo(plan.id);
    assert.equal(stateOf(repository).replace(/^ .*$/gm, ""), before.replace(/^ .*$/gm, ""));
    assert.equal(repository.git("reflog", "-1", "--format=%gs"), `undo: take back ${head.slice(0, 12)}`);
    assert.equal(repository.git("rev-parse", "HEAD", "main"), `${begin}\n${begin}`);
    repository.assertSound();
  });

  it("[G4] shows nothing that the user commits meanwhile, and merges it", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    const begin = inside.head();
    repository.write("by-user.txt", "user\n");
    repository.commitAll("by the user");
    assert.equal(inside.head(), begin);
    inside.write("src/app.ts", "export const app = 2;\n");
    inside.git("add", "src/app.ts");
    inside.git("commit", "-q", "-m", "by the plan");
    await plan.apply();
    assert.equal(
      repository.git("log", "--topo-order", "--format=%s"),
      "Merge 1 commit into main: by the plan\nby the plan\nby the user\nbegin",
    );
    assert.equal(repository.status(), "");
    assert.equal(repository.read("by-user.txt"), "user\n");
    repository.assertSound();
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.git("log", "--format=%s"), "by the user\nbegin");
    assert.equal(repository.status(), "");
  });

  it("[G4][A2] names a file that both changed, and changes nothing", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.write("src/app.ts", "export const app = 2;\n");
    inside.git("commit", "-q", "-am", "by the plan");
    repository.write("src/app.ts", "export const app = 3;\n");
    const before = stateOf(repository);
    assert.deepEqual(await plan.conflicts(), ["src/app.ts: changed in the original"]);
    assert.equal(stateOf(repository), before);
    repository.commitAll("by the user");
    assert.deepEqual(await plan.conflicts(), ["src/app.ts: changed on main and in the plan"]);
    repository.assertSound();
    assert.deepEqual(workshop.ownRefs(), []);
  });

  it("[G8] lands an amended message, a reset, and a rebase", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("two", "two\n");
    repository.commitAll("twoo");
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.git("commit", "-q", "--amend", "-m", "two");
    assert.deepEqual(await notes(plan), [
      ".git/refs/heads/main: 1 commit on main: two; instead of 1 commit: twoo",
    ]);
    await plan.apply();
    assert.equal(repository.git("log", "--format=%s"), "two\nbegin");
    repository.assertSound();
    const back = await workshop.plan({ resources });
    (await back.worktree()).git("reset", "-q", "--hard", "HEAD~1");
    assert.deepEqual(await notes(back), [
      ".git/refs/heads/main: branch main goes back to " +
        `${repository.git("rev-parse", "HEAD~1").slice(0, 10)}, without 1 commit: two`,
    ]);
    await back.apply();
    assert.equal(repository.git("log", "--format=%s"), "begin");
    assert.equal(repository.has("two"), false);
    assert.equal(repository.status(), "");
    repository.assertSound();
  });

  it("[G4] refuses to bring an amended commit together with new ones", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources });
    (await plan.worktree()).git("commit", "-q", "--amend", "-m", "other words");
    repository.write("user", "user\n");
    repository.commitAll("by the user");
    assert.deepEqual(await plan.conflicts(), [
      ".git/refs/heads/main: commits were added in the original, and replaced in the plan",
    ]);
    repository.assertSound();
  });

  it("[G8] lands branches and tags that were made, moved and deleted, also packed ones, and takes them back", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.git("branch", "goes");
    repository.git("branch", "loose");
    repository.git("tag", "old");
    repository.git("pack-refs", "--all");
    repository.git("update-ref", "refs/heads/loose", "HEAD");
    const refs = repository.git("for-each-ref");
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.git("branch", "-D", "goes", "loose");
    inside.git("tag", "-d", "old");
    inside.git("checkout", "-q", "-b", "feature/deep");
    inside.write("feature", "feature\n");
    inside.git("add", ".");
    inside.git("commit", "-q", "-m", "feature");
    inside.git("tag", "-a", "v1", "-m", "one");
    inside.git("checkout", "-q", "main");
    const short = (ref: string) => inside.git("rev-parse", ref).slice(0, 10);
    assert.deepEqual(await notes(plan), [
      ".git/refs/heads/feature/deep: 1 commit on new branch feature/deep: feature",
      `.git/refs/heads/goes: branch goes deleted, was at ${short("main")}`,
      `.git/refs/heads/loose: branch loose deleted, was at ${short("main")}`,
      `.git/refs/tags/old: tag old deleted, was at ${short("main")}`,
      `.git/refs/tags/v1: new tag v1 at ${short("v1")}: feature`,
    ]);
    await plan.apply();
    assert.equal(
      repository.git("for-each-ref", "--format=%(refname) %(objecttype)"),
      "refs/heads/feature/deep commit\nrefs/heads/main commit\nrefs/tags/v1 tag",
    );
    assert.equal(repository.has("feature"), false);
    assert.equal(repository.git("log", "-1", "--format=%s", "v1"), "feature");
    repository.assertSound();
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.git("for-each-ref"), refs);
    repository.assertSound();
  });

  it("[G4] names a branch that both made", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.git("commit", "-q", "--allow-empty", "-m", "inside");
    inside.git("branch", "both");
    inside.git("branch", "way/in");
    repository.git("branch", "both");
    repository.git("branch", "way");
    assert.deepEqual(await plan.conflicts(), [
      ".git/refs/heads/both: made in the original and in the plan",
      ".git/refs/heads/way/in: refs/heads/way is in the way of this name",
    ]);
    repository.assertSound();
  });

  it("[G8] lands the checkout of another branch, unless the user did so too or committed", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const switched = async () => {
      const plan = await workshop.plan({ resources });
      const inside = await plan.worktree();
      inside.git("checkout", "-q", "-b", `side-${plan.id}`);
      inside.write("side", plan.id);
      inside.git("add", ".");
      inside.git("commit", "-q", "-m", "side");
      return plan;
    };
    const [plan, late, later] = [await switched(), await switched(), await switched()];
    await plan.apply();
    assert.equal(repository.git("symbolic-ref", "HEAD"), `refs/heads/side-${plan.id}`);
    assert.equal(repository.status(), "");
    assert.deepEqual(await late.conflicts(), [
      `.git/HEAD: main was checked out when the sandbox was made, and now side-${plan.id} is`,
    ]);
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.git("symbolic-ref", "HEAD"), "refs/heads/main");
    repository.git("commit", "-q", "--allow-empty", "-m", "by the user");
    assert.deepEqual(await later.conflicts(), [
      `.git/HEAD: main moved meanwhile, and the plan checked out side-${later.id}`,
    ]);
    repository.assertSound();
  });

  it("[G8] lands stashes that were made and dropped, and takes them back", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.write("readme.txt", "stashed before\n");
    repository.git("stash", "push", "-q", "-m", "before");
    const list = repository.git("stash", "list");
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.write("src/app.ts", "stashed inside\n");
    inside.git("stash", "push", "-q", "-m", "inside");
    await plan.apply();
    assert.equal(repository.git("stash", "list"), "stash@{0}: On main: inside\nstash@{1}: On main: before");
    repository.assertSound();
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.git("stash", "list"), list);
    const popped = await workshop.plan({ resources });
    (await popped.worktree()).git("stash", "pop", "-q");
    await popped.apply();
    assert.equal(repository.git("stash", "list"), "");
    assert.equal(repository.read("readme.txt"), "stashed before\n");
    await popped.drydock.plans.undo(popped.id);
    assert.equal(repository.git("stash", "list"), list);
    assert.equal(repository.status(), "");
    repository.assertSound();
  });

  it("[G1] keeps what the user has staged meanwhile, and names what both staged", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.write("src/app.ts", "export const app = 2;\n");
    inside.git("add", ".");
    repository.write("readme.txt", "staged by the user\n");
    repository.git("add", ".");
    await plan.apply();
    assert.equal(repository.status(), "M  readme.txt\nM  src/app.ts");
    const other = await workshop.plan({ resources });
    const there = await other.worktree();
    there.git("rm", "-q", "--cached", "src/old.ts");
    repository.write("src/old.ts", "of the user\n");
    repository.git("add", "src/old.ts");
    assert.deepEqual(await other.conflicts(), ["src/old.ts: has staged changes"]);
    repository.assertSound();
  });

  it("[X9] lands hooks and settings only with the user's word", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.git("config", "core.fsmonitor", "touch /tmp/planted; false");
    mkdirSync(join(inside.path, ".git/hooks"), { recursive: true });
    writeFileSync(join(inside.path, ".git/hooks/post-commit"), "#!/bin/sh\n");
    chmodSync(join(inside.path, ".git/hooks/post-commit"), 0o755);
    inside.git("-c", "core.fsmonitor=false", "commit", "-q", "--allow-empty", "-m", "inside");
    const before = stateOf(repository);
    const { selfRunning } = await plan.drydock.plans.diff(plan.id);
    assert.deepEqual(
      selfRunning.map(({ path }) => path),
      [".git/config", ".git/hooks/post-commit"],
    );
    await plan.refusal();
    assert.equal(stateOf(repository), before);
    repository.assertSound();
    await plan.drydock.plans.apply(plan.id, { allow: [".git/config", ".git/hooks/post-commit"] });
    assert.equal(repository.git("-c", "core.fsmonitor=false", "log", "-1", "--format=%s"), "inside");
    assert.match(repository.read(".git/config"), /planted/);
  });

  it("[G3] refuses while a merge is open inside, and goes on when it is done", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.git("checkout", "-q", "-b", "other");
    inside.write("src/app.ts", "other\n");
    inside.git("commit", "-q", "-am", "other");
    inside.git("checkout", "-q", "main");
    inside.write("src/app.ts", "main\n");
    inside.git("commit", "-q", "-am", "main");
    assert.throws(() => inside.git("merge", "other"));
    assert.ok((await notes(plan)).some((note) => note.startsWith(".git/index: does not land")));
    assert.match((await plan.refusal()).message, /A merge is under way in the sandbox/);
    const again = await plan.worktree();
    again.write("src/app.ts", "both\n");
    again.git("commit", "-q", "-am", "merged");
    await plan.apply();
    assert.equal(repository.git("log", "-1", "--format=%s"), "merged");
    repository.assertSound();
  });

  it("[C6] goes back to a checkpoint with commits, branches and the index", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.git("commit", "-q", "--allow-empty", "-m", "first");
    const saved = await plan.drydock.checkpoints.checkpoint(plan.id);
    const again = await plan.worktree();
    again.git("checkout", "-q", "-b", "later");
    again.git("commit", "-q", "--allow-empty", "-m", "second");
    const shown = await plan.drydock.plans.diff(plan.id, { checkpoint: saved.id });
    assert.deepEqual(
      shown.changes.map(({ path, note }) => `${path}: ${note}`),
      [".git/refs/heads/main: 1 commit on main: first"],
    );
    assert.equal(shown.saved?.since.new, 2);
    await plan.drydock.checkpoints.restore(plan.id, saved.id);
    assert.deepEqual(await notes(plan), [".git/refs/heads/main: 1 commit on main: first"]);
    await plan.apply();
    assert.equal(workshop.repository.git("log", "--format=%s"), "first\nbegin");
    workshop.repository.assertSound();
  });

  it("[G8] lands files alone as a part, and the commits with the rest", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.write("src/app.ts", "export const app = 2;\n");
    inside.write("other", "other\n");
    inside.git("add", ".");
    inside.git("commit", "-q", "-m", "both");
    await plan.drydock.plans.apply(plan.id, { only: ["src"] });
    assert.equal(repository.status(), " M src/app.ts");
    await plan.apply();
    assert.equal(repository.status(), "");
    assert.equal(repository.git("log", "--format=%s"), "both\nbegin");
    repository.assertSound();
  });

  it("[G8] works without a branch, and where programs collect garbage", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.git("checkout", "-q", "--detach");
    const plan = await workshop.plan({ resources });
    const inside = await plan.worktree();
    inside.write("src/app.ts", "export const app = 2;\n");
    inside.git("commit", "-q", "-am", "inside");
    inside.git("gc", "-q");
    repository.write("user", "user\n");
    repository.commitAll("by the user");
    await plan.apply();
    assert.equal(repository.git("log", "-1", "--format=%s"), "Merge 1 commit into the checkout: inside");
    assert.equal(repository.status(), "");
    repository.assertSound();
  });

  it("[G5] takes nothing back once the branch has moved on", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const plan = await workshop.plan({ resources });
    (await plan.worktree()).git("commit", "-q", "--allow-empty", "-m", "inside");
    await plan.apply();
    repository.git("commit", "-q", "--allow-empty", "-m", "by the user");
    const before = stateOf(repository);
    await assert.rejects(plan.drydock.plans.undo(plan.id), /no longer at .*, where the plan left it/);
    assert.equal(stateOf(repository), before);
    repository.assertSound();
  });
});
