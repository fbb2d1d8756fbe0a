import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, type Actor, ANY_ACTOR, Stage } from "../run/stage.ts";

/** Checkouts with a repository elsewhere: it is a resource of the plan too, and what is committed lands. */

/** A repository `project` of an actor, and what else a script of sh makes beside it. */
function stageWith(actor: Actor, script: string): Stage {
  const stage = new Stage(actor);
  stage.write(
    "home/.gitconfig",
    '[user]\n\tname = Ann\n\temail = ann@example.com\n[protocol "file"]\n\tallow = always\n',
  );
  mkdirSync(join(stage.project, "src"));
  stage.write("project/src/b.txt", "b\n");
  stage.give();
  done(stage, `git init -q -b main . && git add . && git commit -qm begin\n${script}`);
  return stage;
}

/** Runs a script of sh, which must succeed. */
function done(stage: Stage, script: string): string {
  const { status, stdout, stderr } = stage.shell(`set -e; ${script}`);
  assert.equal(status, 0, stderr);
  return stdout;
}

/** Lands what a script does in a folder, and returns what is said of it. */
function lands(stage: Stage, folder: string, script: string, ...options: string[]): string {
  const args = ["run", "--apply", "--name", folder, ...options, "--", "sh", "-ec", script];
  const { status, stderr } = stage.drydock(args, { cwd: join(stage.path, folder) });
  assert.equal(status, 0, stderr);
  return stderr;
}

const LOG = "git log --format=%s; git status --porcelain; git fsck --no-dangling";
const COMMIT = "echo 2 >> a.txt; git commit -qam 'fix a'";
const LINKED = "git worktree add -q -b linked ../linked";

for (const actor of ANY_ACTOR) {
  describe(`drydock run in a linked worktree, by ${actor}`, () => {
    it("[G8] lands commits, branches and what is staged, at its own path, and takes them back", () => {
      using stage = stageWith(actor, LINKED);
      const script = `pwd; ${COMMIT}; git branch topic; echo open >> src/b.txt; git add src/b.txt; git log --format=%s`;
      const said = lands(stage, "linked", script);
      assert.match(said, /linked\.git\/refs\/heads\/linked +\| 1 commit on linked: fix a\n/);
      assert.match(said, /linked\.git\/refs\/heads\/topic +\| new branch topic at [0-9a-f]+: fix a\n/);
      assert.doesNotMatch(said, /objects|outside/);
      const state = `cd ../linked; ${LOG}; git reflog -1 --format=%gs; git rev-parse topic linked | uniq | wc -l`;
      assert.equal(done(stage, state), "fix a\nbegin\nM  src/b.txt\ncommit: fix a\n1\n");
      assert.equal(done(stage, LOG), "begin\n");
      stage.done("plan", "undo", "linked");
      assert.equal(
        done(stage, `cd ../linked; ${LOG}; git branch --format='%(refname:short)'`),
        "begin\nlinked\nmain\n",
      );
      assert.equal(done(stage, "find .git -name '*.lock' -o -name 'drydock-*'"), "");
    });

    it("[G4][G8] merges with what the user commits there meanwhile", () => {
      using stage = stageWith(actor, LINKED);
      const kept = ["run", "--keep", "--name", "work", "--", "sh", "-ec", COMMIT];
      assert.equal(stage.drydock(kept, { cwd: join(stage.path, "linked") }).status, 0);
      done(stage, "cd ../linked; echo user > user.txt; git add .; git commit -qm 'by the user'");
      stage.done("plan", "apply", "work");
      assert.equal(
        done(stage, "cd ../linked; git log --topo-order --format=%s; git status --porcelain"),
        "Merge 1 commit into linked: fix a\nfix a\nby the user\nbegin\n",
      );
    });
  });
}

describe("A repository that is not in its checkout", () => {
  const [actor = "user"] = ACTORS;

  it("[G8] is that of a bare repository with worktrees beside it, or inside", () => {
    using stage = stageWith(
      actor,
      "git clone -q --bare . ../proj/.bare; cd ../proj; echo 'gitdir: ./.bare' > .git; git worktree add -q main;" +
        "git clone -q --bare .bare ../in.git; cd ../in.git; git worktree add -q main",
    );
    for (const folder of ["proj/main", "in.git/main"]) {
      assert.match(
        lands(stage, folder, COMMIT),
        /main\.git\/refs\/heads\/main +\| 1 commit on main: fix a\n/,
      );
      assert.equal(done(stage, `cd ../${folder}; ${LOG}`), "fix a\nbegin\n");
      stage.done("plan", "undo", folder);
      assert.equal(done(stage, `cd ../${folder}; ${LOG}`), "begin\n");
    }
  });

  it("[G8][A3] lands with its checkout or not at all, also if the process is killed", () => {
    using stage = stageWith(actor, LINKED);
    const cwd = join(stage.path, "linked");
    const script = `${COMMIT}; git tag v1`;
    stage.drydock(["run", "--keep", "--name", "work", "--", "sh", "-ec", script], { cwd });
    const state = `cd ../linked; ${LOG}; git tag; find ../project/.git -name '*.lock' -o -name 'drydock-*'`;
    const killedAt = (point: string) => {
      const env = { DRYDOCK_FAILPOINT: `${point}=kill` };
      assert.notEqual(stage.drydock(["plan", "apply", "work"], { env }).status, 0);
      assert.match(stage.drydock(["recover"]).stderr, /^recovered: /);
      return done(stage, state);
    };
    for (const point of ["git-lock.take:2", "git-landing.flush:1"])
      assert.equal(killedAt(point), "begin\n", point);
    assert.equal(killedAt("git-lock.move:2"), "fix a\nbegin\nv1\n");
    stage.done("plan", "undo", "work");
    assert.equal(done(stage, state), "begin\n");
  });

  it("[G8] is that of a submodule, alone or with a linked worktree around it", () => {
    using stage = stageWith(
      actor,
      "git init -q -b main ../app; cd ../app; git submodule --quiet add ../project lib; git commit -qm 'add lib';" +
        "git worktree add -q ../linked; cd ../linked; git submodule --quiet update --init",
    );
    lands(stage, "app/lib", COMMIT);
    assert.equal(done(stage, `cd ../app/lib; ${LOG}`), "fix a\nbegin\n");
    const bump =
      "cd lib; git switch -q main; echo 3 >> a.txt; git commit -qam third; cd ..; git add lib; git commit -qm 'bump lib'";
    assert.match(
      lands(stage, "linked", bump),
      /linked\.git\/worktrees\/linked\/modules\/lib\/refs\/heads\/main +\| 1 commit on main: third\n/,
    );
    assert.equal(
      done(stage, `cd ../linked; ${LOG}; cd lib; ${LOG}; git branch --show-current`),
      "bump lib\nadd lib\nthird\nbegin\nmain\n",
    );
    assert.equal(done(stage, "cd ../app; find .git -name '*.lock' -o -name 'drydock-*'"), "");
  });

  it("[G8][X9] comes with a submodule whose url is relative, by the user's word", () => {
    using stage = stageWith(
      actor,
      "git init -q -b main ../app; cd ../app; git submodule --quiet add ../project lib; git commit -qm 'add lib';" +
        "cd ..; git clone -q app clone",
    );
    const init = ["run", "--apply", "--", "git", "submodule", "--quiet", "update", "--init"];
    const refused = stage.drydock(init, { cwd: join(stage.path, "clone") });
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr, /runs by itself: clone\/\.git\/modules\/lib\/config: git/);
    const words = ["--allow", ".git/**", "--allow", "lib/.git"];
    lands(stage, "clone", "git submodule --quiet update --init", ...words);
    assert.equal(done(stage, `cd ../clone; git status --porcelain; cd lib; ${LOG}`), "begin\n");
  });

  it("[X9] has hooks and settings too, whatever its name is", () => {
    using stage = stageWith(
      actor,
      "git clone -q --bare . ../proj/.bare; cd ../proj/.bare; git worktree add -q ../main",
    );
    const args = ["run", "--apply", "--", "git", "config", "core.fsmonitor", "touch planted"];
    const refused = stage.drydock(args, { cwd: join(stage.path, "proj/main") });
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr, /runs by itself: main\.git\/config: git/);
    assert.doesNotMatch(done(stage, "cat ../proj/.bare/config"), /planted/);
  });

  it("[G8] is part of one checkout's plan only, and of no sandbox that would lose commits", () => {
    using stage = stageWith(actor, LINKED);
    const create = (...args: string[]) => stage.drydock(["plan", "create", ...args], { cwd: stage.path });
    const both = create("-r", "project", "-r", "linked");
    assert.match(both.stderr, /linked and project are checkouts of one repository/);
    const copied = create("-r", "linked,strategy=filesystem_copy");
    assert.match(copied.stderr, /what is committed inside would be lost/);
    const files = create("-r", "linked,strategy=filesystem_copy,type=fs-directory");
    assert.equal(files.status, 0, files.stderr);
    stage.done("plan", "create", "--name", "shown", "-r", "../linked");
    const path = stage.drydock(["plan", "path", "shown"]);
    assert.match(path.stderr, /has its repository elsewhere/);
  });
});
