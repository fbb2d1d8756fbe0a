import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GitWorkshop, type OpenPlan, stateOf } from "./git-workshop.ts";

/** Every hook that git knows and could run in a checkout. */
const ALL_HOOKS = [
  "applypatch-msg",
  "commit-msg",
  "post-applypatch",
  "post-checkout",
  "post-commit",
  "post-index-change",
  "post-merge",
  "post-rewrite",
  "pre-applypatch",
  "pre-auto-gc",
  "pre-commit",
  "pre-merge-commit",
  "pre-push",
  "pre-rebase",
  "prepare-commit-msg",
  "reference-transaction",
  "fsmonitor-watchman",
];

/** A checkout with hooks. Each writes down that it ran. */
class HookWorkshop extends GitWorkshop {
  readonly #log = join(this.base, "hooks.log");

  hook(name: string, script = ""): void {
    const path = `.git/hooks/${name}`;
    this.repository.write(path, `#!/bin/sh\necho "${name} $*" >> '${this.#log}'\n${script}\n`);
    chmodSync(join(this.repository.path, path), 0o755);
  }

  /** The hooks that ran, in turn. */
  ran(): string[] {
    return existsSync(this.#log) ? readFileSync(this.#log, "utf8").trimEnd().split("\n") : [];
  }

  /** A plan that changes a file, by a config that says this of git. */
  async changingPlan(settings: string): Promise<OpenPlan> {
    this.repository.write("../drydock.yaml", `sandbox: { git: { ${settings} } }\n`);
    const plan = await this.plan({}, { config: "drydock.yaml" });
    await plan.write("src/app.ts", "export const app = 2;\n");
    return plan;
  }
}

const ON = "run_hooks: true";

describe("Hooks of the user's repository", () => {
  it("[G3] are not run, none of them at any step, unless the config says so", async () => {
    await using workshop = new HookWorkshop();
    for (const name of ALL_HOOKS) workshop.hook(name, "exit 1");
    const plan = await workshop.changingPlan("");
    const { plans, checkpoints } = plan.drydock;
    const saved = await checkpoints.checkpoint(plan.id);
    await plan.write("src/old.ts", "changed\n");
    await checkpoints.restore(plan.id, saved.id);
    await plan.changes();
    await plans.apply(plan.id, { dryRun: true });
    await plan.apply();
    await plans.undo(plan.id);
    assert.deepEqual(workshop.ran(), []);
  });

  it("run around a landing if it does: commit-msg, pre-merge-commit and post-merge, and none for an undo", async () => {
    await using workshop = new HookWorkshop();
    const { repository } = workshop;
    for (const name of ALL_HOOKS) workshop.hook(name);
    const plan = await workshop.changingPlan(ON);
    assert.deepEqual(workshop.ran(), []);
    assert.deepEqual((await plan.apply("one change")).attention, []);
    const ours = workshop.ran().map((line) => line.replace(/ \/.*\//, " "));
    assert.deepEqual(ours, ["commit-msg COMMIT_EDITMSG", "pre-merge-commit ", "post-merge 0"]);
    await plan.drydock.plans.undo(plan.id);
    assert.equal(workshop.ran().length, 3);
    repository.assertSound();
  });

  it("are found where the user's settings say, and need not be there", async () => {
    await using workshop = new HookWorkshop();
    const { repository } = workshop;
    repository.git("config", "core.hooksPath", ".own-hooks");
    workshop.hook("post-merge", "exit 1");
    repository.write(".own-hooks/post-merge", '#!/bin/sh\npwd > where\necho "$EDITORIAL" >> where\n');
    chmodSync(join(repository.path, ".own-hooks/post-merge"), 0o755);
    repository.write("../drydock.yaml", `sandbox: { git: { ${ON} } }\n`);
    const environment = { EDITORIAL: "of the user", GIT_DIR: "/nowhere" };
    const plan = await workshop.plan({}, { config: "drydock.yaml", environment });
    await plan.write("src/app.ts", "export const app = 2;\n");
    await plan.apply();
    assert.equal(repository.read("where"), `${repository.path}\nof the user\n`);
    assert.deepEqual(workshop.ran(), []);
  });

  it("commit-msg changes the message of what lands, or refuses it, and then nothing is changed", async () => {
    await using workshop = new HookWorkshop();
    const { repository } = workshop;
    const script =
      "grep -q '^TICKET-' \"$1\" || { echo no ticket >&2; exit 1; }; echo 'Seen-by: hook' >> \"$1\"";
    workshop.hook("commit-msg", script);
    const plan = await workshop.changingPlan(ON);
    const before = stateOf(repository);
    const { message, cause } = await plan.refusal();
    assert.match(message, /hook commit-msg refuses this: no ticket/);
    assert.equal((cause as { code?: string }).code, "HOOK_REFUSED");
    assert.equal(stateOf(repository), before);
    repository.assertSound();
    await plan.apply("TICKET-7: better");
    assert.equal(repository.git("log", "-1", "--format=%B"), "TICKET-7: better\nSeen-by: hook\n");
    assert.equal(repository.git("log", "-1", "--format=%B", "HEAD^2"), "TICKET-7: better\nSeen-by: hook\n");
    workshop.hook("commit-msg", ': > "$1"');
    const second = await workshop.changingPlan(ON);
    await second.write("src/app.ts", "export const app = 3;\n");
    assert.match((await second.refusal()).message, /hook commit-msg refuses this: it left an empty message/);
  });

  it("pre-merge-commit sees in the index what would land, merged, and refuses it by what it says", async () => {
    await using workshop = new HookWorkshop();
    const { repository } = workshop;
    const script =
      "git diff --cached --name-only HEAD >&2; git show :src/app.ts >&2; git show :theirs.txt >&2; exit 3";
    workshop.hook("pre-merge-commit", script);
    const plan = await workshop.changingPlan(ON);
    repository.write("theirs.txt", "theirs\n");
    repository.git("add", "-A");
    repository.git("commit", "-q", "--no-verify", "-m", "theirs");
    repository.write("src/old.ts", "dirty\n");
    repository.write("staged.txt", "staged\n");
    repository.git("add", "staged.txt");
    const before = stateOf(repository);
    const { message } = await plan.refusal();
    assert.match(message, /pre-merge-commit refuses this: src\/app\.ts; export const app = 2;; theirs/);
    assert.equal(stateOf(repository), before);
    assert.deepEqual(repository.traces(), []);
    assert.deepEqual(await plan.changes(), ["modified file src/app.ts"]);
    workshop.hook("pre-merge-commit");
    await plan.apply();
    assert.equal(repository.status(), " M src/old.ts\nA  staged.txt");
    repository.assertSound();
  });

  it("pre-merge-commit can't put something else in the place of what would land", async () => {
    await using workshop = new HookWorkshop();
    const { repository } = workshop;
    workshop.hook("pre-merge-commit", "git add src/app.ts");
    const plan = await workshop.changingPlan(ON);
    const before = stateOf(repository);
    assert.match((await plan.refusal()).message, /pre-merge-commit changed what was to be committed/);
    assert.equal(stateOf(repository), before);
    repository.assertSound();
  });

  it("what pre-merge-commit does to the checkout counts as the user's own work", async () => {
    await using workshop = new HookWorkshop();
    workshop.hook("pre-merge-commit", "echo formatted > src/app.ts");
    const plan = await workshop.changingPlan(ON);
    assert.deepEqual(await plan.conflicts(), ["src/app.ts: has uncommitted changes"]);
    assert.equal(workshop.repository.read("src/app.ts"), "formatted\n");
  });

  it("post-merge finds everything in its place and may use git; its failure is reported, and what landed stays", async () => {
    await using workshop = new HookWorkshop();
    const { repository } = workshop;
    const script =
      "git show HEAD:src/app.ts && cat src/app.ts && git update-index --refresh && git tag seen; exit 5";
    workshop.hook("post-merge", script);
    const plan = await workshop.changingPlan(ON);
    const { attention } = await plan.apply();
    const said =
      "everything has landed, but the hook post-merge failed: export const app = 2;; export const app = 2;";
    assert.deepEqual(attention, [{ resource: "app", path: ".", message: said }]);
    assert.equal((await plan.drydock.plans.show(plan.id)).state, "applied");
    assert.equal(repository.git("rev-parse", "seen"), repository.head());
    await plan.drydock.plans.undo(plan.id);
    assert.equal(repository.read("src/app.ts"), "export const app = 1;\n");
    assert.equal(repository.status(), "");
  });

  it("that hang are ended: one before the landing refuses it, one after it is reported", async () => {
    await using workshop = new HookWorkshop();
    const { repository } = workshop;
    workshop.hook("commit-msg", "exec sleep 1000");
    const plan = await workshop.changingPlan(`${ON}, timeout: 1s`);
    const before = stateOf(repository);
    assert.match(
      (await plan.refusal()).message,
      /commit-msg refuses this: .*nothing to say for 1 seconds and was ended/,
    );
    assert.equal(stateOf(repository), before);
    workshop.hook("commit-msg");
    workshop.hook("post-merge", "exec sleep 1000");
    const { attention } = await plan.apply();
    assert.match(
      attention[0]?.message ?? "",
      /post-merge failed: .*nothing to say for 1 seconds and was ended/,
    );
    assert.equal(repository.read("src/app.ts"), "export const app = 2;\n");
    repository.assertSound();
  });

  it("run too where the branch only moves on, but for commit-msg if all commits were made in the worktree", async () => {
    await using workshop = new HookWorkshop();
    for (const name of ALL_HOOKS) workshop.hook(name);
    const plan = await workshop.changingPlan(`${ON}, fast_forward: true`);
    (await plan.worktree()).commitAll("made inside");
    await plan.apply();
    assert.deepEqual(workshop.ran(), ["pre-merge-commit ", "post-merge 0"]);
    assert.equal(workshop.repository.git("log", "-1", "--format=%s"), "made inside");
  });

  it("are not those that a plan brings into the worktree's own repository", async () => {
    await using workshop = new HookWorkshop();
    const plan = await workshop.changingPlan(ON);
    const worktree = await plan.worktree();
    for (const name of ALL_HOOKS) {
      worktree.write(`.git/hooks/${name}`, `#!/bin/sh\ntouch '${workshop.base}/trapped'\n`);
      chmodSync(join(worktree.path, ".git/hooks", name), 0o755);
    }
    worktree.git("config", "core.hooksPath", join(worktree.path, ".git/hooks"));
    await plan.apply();
    assert.equal(existsSync(join(workshop.base, "trapped")), false);
  });
});
