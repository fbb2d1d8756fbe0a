import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { TestRepository } from "../support/test-repository.ts";
import { GitWorkshop, IN_PLACE, type OpenPlan } from "./git-workshop.ts";

/**
 * Submodules in a checkout at its own path: their repositories are part of the plan, and land as that of the
 * checkout does. test/git/elsewhere.test.ts has them as ordinary users work in them.
 */
const skip = process.geteuid?.() === 0 ? false : "only root has a path to the sandbox";
const LOCAL = ["-c", "protocol.file.allow=always"];

/** A checkout with a submodule `lib`, which has a submodule `deep`. */
class Nested extends GitWorkshop {
  readonly lib: TestRepository;
  readonly deep: TestRepository;

  constructor() {
    super();
    const source = new TestRepository(join(this.base, "lib"));
    const add = (to: TestRepository, from: string, name: string) => {
      to.git(...LOCAL, "submodule", "--quiet", "add", from, name);
      to.git("commit", "-q", "-m", `add ${name}`);
    };
    this.repository.git("clone", "-q", ".", source.path);
    add(source, this.repository.path, "deep");
    add(this.repository, source.path, "lib");
    this.repository.git(...LOCAL, "submodule", "--quiet", "update", "--init", "--recursive");
    this.lib = new TestRepository(join(this.repository.path, "lib"));
    this.deep = new TestRepository(join(this.lib.path, "deep"));
  }

  /** A plan, and the three checkouts as programs find them in it. */
  async work(): Promise<{ plan: OpenPlan; app: TestRepository; lib: TestRepository; deep: TestRepository }> {
    const plan = await this.plan({ resources: [IN_PLACE] });
    const app = await plan.worktree();
    const lib = new TestRepository(join(app.path, "lib"));
    return { plan, app, lib, deep: new TestRepository(join(lib.path, "deep")) };
  }

  /** What git says of all three. */
  state(): string {
    return [this.repository, this.lib, this.deep]
      .map((each) => `${each.git("log", "--format=%s")}\n${each.git("status", "-sb")}`)
      .join("\n");
  }
}

function commit(repository: TestRepository, path: string, message: string): void {
  repository.write(path, `${message}\n`);
  repository.commitAll(message);
}

describe("Submodules of a checkout at its own path", { skip }, () => {
  it("[G4][G8] land their commits as the checkout does, merged with the user's, and are taken back", async () => {
    await using workshop = new Nested();
    const { plan, app, lib, deep } = await workshop.work();
    lib.git("switch", "-q", "main");
    commit(deep, "by-plan", "deepest");
    commit(lib, "by-plan", "in lib");
    lib.git("tag", "v1");
    commit(app, "by-plan", "bump lib");
    const { changes } = await plan.drydock.plans.diff(plan.id);
    assert.deepEqual(
      changes.flatMap(({ path, note }) => (note === undefined ? [] : [`${path}: ${note}`])),
      [
        ".git/refs/heads/main: 1 commit on main: bump lib",
        ".git/modules/lib/refs/heads/main: 1 commit on main: in lib",
        `.git/modules/lib/refs/tags/v1: new tag v1 at ${lib.head().slice(0, 10)}: in lib`,
        ".git/modules/lib/modules/deep/HEAD: 1 commit on no branch: deepest",
      ],
    );
    assert.deepEqual(
      changes.flatMap(({ path, note }) => (note === undefined ? [path] : [])),
      ["by-plan", "lib/by-plan", "lib/deep/by-plan"],
    );
    // The user stages something and commits in the same submodule.
    commit(workshop.deep, "by-user", "by the user");
    workshop.lib.write("readme.txt", "staged by the user\n");
    workshop.lib.git("add", "readme.txt");
    const before = workshop.state();
    const [reflog, head] = [lib.git("reflog", "main"), lib.head()];
    await plan.apply();
    assert.equal(workshop.lib.head(), head);
    assert.equal(workshop.lib.git("reflog", "main"), reflog);
    assert.equal(workshop.lib.git("rev-parse", "v1"), head);
    assert.equal(workshop.repository.git("rev-parse", "HEAD:lib"), head);
    assert.equal(workshop.lib.status(), " M deep\nM  readme.txt");
    assert.equal(
      workshop.deep.git("log", "--topo-order", "--format=%s", "-3"),
      "Merge 1 commit into the checkout: deepest\ndeepest\nby the user",
    );
    assert.equal(workshop.deep.status(), "");
    for (const each of [workshop.repository, workshop.lib, workshop.deep])
      assert.equal(each.git("fsck", "--strict", "--no-dangling"), "");
    await plan.drydock.plans.undo(plan.id);
    assert.equal(workshop.state(), before);
    assert.deepEqual(workshop.repository.traces(), []);
  });

  it("[G3][G8] conflict by the name of the ref, and wait for another git, before anything lands", async () => {
    await using workshop = new Nested();
    const { plan, app, lib } = await workshop.work();
    lib.git("branch", "topic", "HEAD~1");
    commit(app, "by-plan", "in the checkout");
    const before = workshop.state();
    workshop.lib.git("branch", "topic");
    assert.deepEqual(await plan.conflicts(), [
      ".git/modules/lib/refs/heads/topic: made in the original and in the plan",
    ]);
    workshop.lib.git("branch", "-q", "-D", "topic");
    const lock = join(workshop.repository.path, ".git/modules/lib/index.lock");
    workshop.repository.write(".git/modules/lib/index.lock", "");
    assert.match((await plan.refusal()).message, /A git process is changing the index/);
    rmSync(lock);
    assert.equal(workshop.state(), before);
    assert.deepEqual(workshop.repository.traces(), []);
    await plan.apply();
    assert.equal(workshop.lib.git("rev-parse", "topic"), workshop.lib.git("rev-parse", "HEAD~1"));
  });

  it("[G8] go with their repository where a plan removes it, and keep their commits in a squash", async () => {
    await using workshop = new Nested();
    const before = workshop.state();
    const removal = await workshop.work();
    removal.app.git("submodule", "--quiet", "deinit", "-f", "lib");
    removal.app.git("rm", "-q", "lib");
    removal.app.remove(".git/modules/lib");
    removal.app.commitAll("without lib");
    await removal.plan.drydock.plans.apply(removal.plan.id, { allow: [".git/**"] });
    assert.equal(workshop.repository.has(".git/modules/lib"), false);
    assert.equal(workshop.repository.status(), "");
    await removal.plan.drydock.plans.undo(removal.plan.id);
    assert.equal(workshop.state(), before);
    const { plan, app, lib } = await workshop.work();
    for (const message of ["one", "two"]) {
      commit(lib, message, message);
      commit(app, message, message);
    }
    await plan.drydock.plans.apply(plan.id, { squash: true, message: "both" });
    assert.equal(workshop.repository.git("log", "--format=%s", "-2"), "both\nadd lib");
    assert.equal(workshop.lib.git("log", "--format=%s", "-2"), "two\none");
    assert.equal(workshop.repository.git("rev-parse", "HEAD:lib"), workshop.lib.head());
    assert.equal(workshop.repository.status(), "");
  });
});
