import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { UnsupportedError } from "../../src/index.ts";
import { mountMemory, whyNoImages } from "../support/file-systems.ts";
import { TestRepository } from "../support/test-repository.ts";
import { GitWorkshop } from "./git-workshop.ts";

/** Repositories of every kind: each works, or is refused before anything is made, with the reason. */
async function assertRefused(workshop: GitWorkshop, location: string, why: RegExp): Promise<void> {
  const drydock = await workshop.open();
  const request = { location, type: "git-checkout", strategy: "git_worktree" };
  await assert.rejects(drydock.plans.create({ resources: [request] }), (thrown) => {
    assert.ok(thrown instanceof UnsupportedError, String(thrown));
    assert.match(thrown.message, why);
    return true;
  });
  assert.deepEqual(await drydock.plans.list({ all: true }), []);
}

async function landsAndIsUndone(
  workshop: GitWorkshop,
  repository: TestRepository,
  location: string,
): Promise<void> {
  const before = repository.git("rev-parse", "HEAD");
  const plan = await workshop.plan({ resources: [{ name: "app", location, strategy: "git_worktree" }] });
  await plan.write("landed.txt", "landed\n");
  await plan.apply();
  assert.equal(repository.read("landed.txt"), "landed\n");
  assert.equal(repository.status(), "");
  assert.notEqual(repository.head(), before);
  repository.assertSound();
  await plan.drydock.plans.undo(plan.id);
  assert.equal(repository.head(), before);
  assert.equal(repository.status(), "");
  repository.assertSound();
}

describe("[L8] git_worktree refuses", () => {
  const refusals: {
    readonly [what: string]: (workshop: GitWorkshop) => readonly [location: string, why: RegExp];
  } = {
    "a bare repository": ({ repository }) => {
      repository.git("clone", "-q", "--bare", ".", "../bare");
      return ["bare", /is a bare repository/];
    },
    "a folder that is no repository": (workshop) => {
      mkdirSync(join(workshop.base, "plain"));
      return ["plain", /is not a git repository/];
    },
    "a folder inside a checkout": () => ["app/src", /is not the top folder of a checkout/],
    "a repository without a commit": ({ base, repository }) => {
      repository.git("init", "-q", join(base, "unborn"));
      return ["unborn", /has no commit yet/];
    },
    "a sparse checkout": ({ repository }) => {
      repository.git("sparse-checkout", "set", "src");
      return ["app", /is a sparse checkout/];
    },
    "a partial clone": ({ base, repository }) => {
      repository.git("config", "uploadpack.allowFilter", "true");
      repository.git("clone", "-q", "--filter=blob:none", `file://${repository.path}`, join(base, "partial"));
      return ["partial", /is a partial clone/];
    },
    "a repository in the middle of a merge": ({ repository }) => {
      repository.git("checkout", "-q", "-b", "side");
      repository.write("src/app.ts", "side\n");
      repository.commitAll("side");
      repository.git("checkout", "-q", "main");
      repository.git("merge", "-q", "--no-ff", "--no-commit", "side");
      return ["app", /is in the middle of a merge/];
    },
    "a repository in the middle of a rebase": ({ repository }) => {
      repository.git("-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i", "--root");
      return ["app", /is in the middle of a rebase/];
    },
  };
  for (const [what, prepare] of Object.entries(refusals)) {
    it(what, async () => {
      await using workshop = new GitWorkshop();
      const [location, why] = prepare(workshop);
      await assertRefused(workshop, location, why);
    });
  }

  it("a repository of another user, unless it is declared safe", {
    skip: process.geteuid?.() !== 0 ? "only root can give a repository away" : false,
  }, async () => {
    await using workshop = new GitWorkshop();
    chmodSync(workshop.base, 0o755);
    execFileSync("chown", ["-R", "12345:12345", workshop.repository.path]);
    await assertRefused(workshop, "app", /is a repository of another user/);
    workshop.repository.write("../home/.gitconfig", `[safe]\n\tdirectory = ${workshop.repository.path}\n`);
    const plan = await workshop.plan();
    await plan.write("src/app.ts", "mine\n");
    await plan.apply();
    assert.equal(workshop.repository.read("src/app.ts"), "mine\n");
  });

  it("leaves such a checkout to the next strategy where the choice is ours", async () => {
    await using workshop = new GitWorkshop();
    workshop.repository.git("sparse-checkout", "set", "src");
    const { view, drydock } = await workshop.plan({ resources: [{ location: "app", from: "head" }] });
    await drydock.plans.cancel(view.id);
    assert.notEqual(view.resources[0]?.strategy, "git_worktree");
    assert.match(
      view.resources[0]?.why ?? "",
      /passed over: overlay: it shows the files as they are.*git_worktree: .*is a sparse checkout/,
    );
  });
});

describe("git_worktree works on", () => {
  const kinds: { readonly [what: string]: (workshop: GitWorkshop) => string } = {
    "a checkout on no branch": ({ repository }) => {
      repository.git("checkout", "-q", "--detach");
      return "app";
    },
    "a branch whose name is a path, among packed refs": ({ repository }) => {
      repository.git("checkout", "-q", "-b", "feature/deep/one");
      repository.git("pack-refs", "--all", "--prune");
      return "app";
    },
    "a repository with a branch called drydock": ({ repository }) => {
      repository.git("branch", "drydock");
      return "app";
    },
    "a shallow clone": ({ base, repository }) => {
      repository.commitAll("second");
      repository.commitAll("third");
      repository.git("clone", "-q", "--depth=1", `file://${repository.path}`, join(base, "shallow"));
      return "shallow";
    },
    "a repository that borrows objects": ({ base, repository }) => {
      repository.git("clone", "-q", "--shared", ".", join(base, "borrower"));
      return "borrower";
    },
    "a repository with other hashes": ({ base, repository }) => {
      repository.git("init", "-q", "--object-format=sha256", "-b", "main", join(base, "sha256"));
      const other = new TestRepository(join(base, "sha256"));
      other.write("a", "a\n");
      other.commitAll("begin");
      return "sha256";
    },
    "a repository with a split index": ({ repository }) => {
      repository.git("config", "core.splitIndex", "true");
      repository.git("update-index", "--split-index");
      return "app";
    },
    "a path with blanks, quotes and a comma": ({ base, repository }) => {
      repository.git("clone", "-q", ".", join(base, `od d,"na'me\\`));
      return `od d,"na'me\\`;
    },
    "a repository whose .git is elsewhere": ({ base, repository }) => {
      repository.git("clone", "-q", "--separate-git-dir", join(base, "elsewhere"), ".", join(base, "apart"));
      return "apart";
    },
  };
  for (const [what, prepare] of Object.entries(kinds)) {
    it(what, async () => {
      await using workshop = new GitWorkshop();
      const location = prepare(workshop);
      await landsAndIsUndone(workshop, new TestRepository(join(workshop.base, location)), location);
    });
  }

  it("a checkout that is a mount point, with the workspace inside", {
    skip: whyNoImages() ?? false,
  }, async () => {
    await using workshop = new GitWorkshop();
    const mounted = mountMemory();
    try {
      workshop.repository.git("clone", "-q", ".", mounted.path);
      const repository = new TestRepository(realpathSync(mounted.path));
      repository.write("untracked.txt", "untracked\n");
      for (const from of ["head", "checkout"]) {
        const resources = [{ name: "app", location: mounted.path, from, strategy: "git_worktree" }];
        const plan = await workshop.plan({ resources });
        assert.deepEqual(await plan.changes(), []);
        await plan.write("landed.txt", `${from}\n`);
        await plan.apply();
        assert.equal(repository.read("landed.txt"), `${from}\n`);
        assert.equal(repository.git("ls-files", ".drydock*"), "");
        await plan.drydock.plans.undo(plan.id);
        assert.equal(repository.status(), "?? untracked.txt");
        repository.assertSound();
      }
    } finally {
      mounted.remove();
    }
  });

  it("submodules: they stay as they are, and the sandbox says so", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", repository.path, "vendor");
    repository.commitAll("with a submodule");
    const plan = await workshop.plan();
    assert.deepEqual(await plan.changes(), []);
    await plan.write("src/app.ts", "mine\n");
    await plan.apply();
    assert.equal(repository.status(), "");
    assert.equal(repository.read("vendor/src/app.ts"), "export const app = 1;\n");
  });

  it("a repository in the worktree that is not a submodule: it does not land", async () => {
    await using workshop = new GitWorkshop();
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    worktree.git("init", "-q", "inner");
    const inner = new TestRepository(join(worktree.path, "inner"));
    inner.write("a", "a\n");
    inner.commitAll("inner");
    await plan.write("src/app.ts", "mine\n");
    assert.deepEqual(await plan.changes(), ["added directory inner", "modified file src/app.ts"]);
    await plan.apply();
    assert.equal(workshop.repository.has("inner"), false);
    assert.equal(workshop.repository.status(), "");
  });

  it("files that a filter keeps elsewhere, through that filter", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    repository.git("config", "filter.kept.clean", "sed 's/^/pointer to: /'");
    repository.git("config", "filter.kept.smudge", "sed 's/^pointer to: //'");
    repository.write(".gitattributes", "*.big filter=kept\n");
    repository.write("a.big", "content\n");
    repository.commitAll("with a large file");
    assert.equal(repository.git("show", "HEAD:a.big"), "pointer to: content");
    const plan = await workshop.plan();
    const worktree = await plan.worktree();
    assert.equal(worktree.read("a.big"), "content\n");
    worktree.write("a.big", "other content\n");
    await plan.apply();
    assert.equal(repository.read("a.big"), "other content\n");
    assert.equal(repository.git("show", "HEAD:a.big"), "pointer to: other content");
    assert.equal(repository.status(), "");
  });
});
