import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GitWorkshop, IN_PLACE, type OpenPlan, WORKTREE } from "./git-workshop.ts";

/** What the commits of a landing are, and what they say. */
const skip = process.geteuid?.() === 0 ? false : "only root has a path to the sandbox";
const log = ({ repository }: GitWorkshop, format = "%s") =>
  repository.git("log", "--topo-order", `--format=${format}`);

async function commitInside(plan: OpenPlan, ...messages: string[]): Promise<void> {
  const inside = await plan.worktree();
  for (const message of messages) {
    inside.write("src/app.ts", `// ${message}\n`);
    inside.git("commit", "-q", "-am", message);
  }
}

describe("The message of a landing from a worktree", () => {
  it("says what was done, where the user says nothing", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan({ resources: [WORKTREE] });
    await plan.write("src/app.ts", "export const app = 2;\n");
    await plan.apply();
    assert.equal(log(workshop), "Merge 1 commit into main: Change src/app.ts\nChange src/app.ts\nbegin");
    const more = await workshop.plan({ resources: [WORKTREE] });
    await commitInside(more, "fix it");
    for (const name of ["src/a", "src/b"]) await more.write(name, "new\n");
    await more.apply();
    assert.equal(
      log(workshop).split("\n").slice(0, 3).join("\n"),
      "Merge 2 commits into main: fix it; Add 2 files in src\nAdd 2 files in src\nfix it",
    );
    workshop.repository.assertSound();
  });

  it("is that of an amended commit, and an amended message alone is refused by name", async () => {
    await using workshop = new GitWorkshop();
    const alone = await workshop.plan({ resources: [WORKTREE] });
    (await alone.worktree()).git("commit", "-q", "--amend", "-m", "other words");
    assert.match((await alone.refusal()).message, /replace those that it began with/);
    const plan = await workshop.plan({ resources: [WORKTREE] });
    const inside = await plan.worktree();
    inside.write("src/app.ts", "export const app = 2;\n");
    inside.git("commit", "-q", "-a", "--amend", "-m", "begin, better");
    await plan.apply();
    assert.equal(log(workshop), "Merge 1 commit into main: begin, better\nbegin, better\nbegin");
    workshop.repository.assertSound();
  });
});

describe("A squashed landing", { skip }, () => {
  for (const [where, resource] of Object.entries({
    "at its own path": IN_PLACE,
    "from a worktree": WORKTREE,
  })) {
    it(`[G8] ${where} is one commit in place of those made inside, with their messages or the user's`, async () => {
      await using workshop = new GitWorkshop();
      const { repository } = workshop;
      const begin = repository.head();
      const plan = await workshop.plan({ resources: [resource] });
      await commitInside(plan, "first\n\nwith reasons", "second");
      await plan.drydock.plans.apply(plan.id, { squash: true });
      assert.equal(log(workshop, "%B").trim(), "first\n\nwith reasons\n\nsecond\n\nbegin");
      assert.equal(repository.read("src/app.ts"), "// second\n");
      assert.equal(repository.status(), "");
      repository.assertSound();
      await plan.drydock.plans.undo(plan.id);
      assert.equal(repository.head(), begin);
      const other = await workshop.plan({ resources: [resource] });
      await commitInside(other, "third", "fourth");
      repository.write("user", "user\n");
      repository.commitAll("by the user");
      await other.drydock.plans.apply(other.id, { squash: true, message: "all at once" });
      assert.equal(log(workshop), "all at once\nby the user\nbegin");
      assert.equal(repository.status(), "");
      repository.assertSound();
    });
  }

  it("[G8] is refused where commits were replaced, or another branch was checked out", async () => {
    await using workshop = new GitWorkshop();
    const amended = await workshop.plan({ resources: [IN_PLACE] });
    (await amended.worktree()).git("commit", "-q", "--amend", "-m", "other words");
    const switched = await workshop.plan({ resources: [IN_PLACE] });
    (await switched.worktree()).git("checkout", "-q", "-b", "topic");
    await commitInside(switched, "on topic");
    for (const plan of [amended, switched])
      await assert.rejects(
        plan.drydock.plans.apply(plan.id, { squash: true }),
        /did not only add commits to main/,
      );
    await assert.rejects(
      switched.drydock.plans.apply(switched.id, { squash: true, only: ["src"] }),
      /A part of the work has no commits/,
    );
    assert.equal(log(workshop), "begin");
    workshop.repository.assertSound();
  });
});
