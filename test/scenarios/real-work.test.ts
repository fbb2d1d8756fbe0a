import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, inTurn, Stage } from "../run/stage.ts";
import { buildRichTree, changeRichTree } from "../support/rich-tree.ts";
import { buildProject, COMPILER_ENVIRONMENT } from "./compiled-project.ts";
import { assertSameWork } from "./same-work.ts";

/** What people really do in a project, done directly and inside, is the same. */

/** Fixed names and times, and nothing that git does later by itself. */
const GIT_ENVIRONMENT = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "A",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_AUTHOR_DATE: "1700000000 +0000",
  GIT_COMMITTER_NAME: "C",
  GIT_COMMITTER_EMAIL: "c@example.org",
  GIT_COMMITTER_DATE: "1700000100 +0000",
  GIT_CONFIG_COUNT: "3",
  GIT_CONFIG_KEY_0: "gc.auto",
  GIT_CONFIG_VALUE_0: "0",
  GIT_CONFIG_KEY_1: "pack.threads",
  GIT_CONFIG_VALUE_1: "1",
  GIT_CONFIG_KEY_2: "safe.directory",
  GIT_CONFIG_VALUE_2: "*",
};
/** It holds inode numbers and change times of the files. */
const GIT_INDEX = /(?:^|\/)\.git\/index$/;

const UPSTREAM = `
  git init -q -b main . && mkdir -p lib docs
  for n in $(seq 40); do echo "line $n of many" > lib/$n.txt; done
  git add . && git commit -qm base
  git checkout -qb topic
  for n in 1 2 3; do echo "topic $n" >> lib/$n.txt; git mv lib/$((n + 10)).txt docs/; git commit -qam "topic $n"; done
  git checkout -q main
  git rm -qr lib/3[0-9].txt && echo main >> lib/20.txt && ln -s lib/1.txt link && git add link && git commit -qam "main goes on"
  git repack -adq && echo loose >> lib/21.txt && git commit -qam loose`;

for (const actor of ACTORS) {
  describe(`Work inside, applied, against the same work done directly, by ${actor}`, () => {
    const it = inTurn(actor);
    it("[A11] npm installs a package from the registry, with its cache in the scratch layer", (t) => {
      using stage = new Stage(actor);
      stage.write("project/package.json", '{ "name": "project", "version": "1.0.0" }\n');
      stage.write("project/node_modules/old/index.js", "old\n");
      stage.give();
      const env = npmEnvironment();
      const first = stage.run("npm", ["view", "left-pad@1.3.0", "version"], { env, cwd: stage.home });
      if (first.status !== 0) return t.skip(`the registry can't be reached: ${first.stderr.split("\n")[0]}`);
      assertSameWork(stage, {
        script: "npm install --no-audit --no-fund left-pad@1.3.0; test -d ~/.npm/_cacache",
        env,
      });
    });

    it("[A11] git clones, rebases, resets and collects garbage", () => {
      using stage = new Stage(actor);
      const upstream = join(stage.project, "upstream");
      mkdirSync(upstream);
      execFileSync("sh", ["-ec", UPSTREAM], {
        cwd: upstream,
        env: { ...stage.environment, ...GIT_ENVIRONMENT },
      });
      execFileSync("git", ["clone", "-q", upstream, join(stage.project, "known")], {
        env: { ...stage.environment, ...GIT_ENVIRONMENT },
      });
      stage.give();
      assertSameWork(stage, {
        script: `
          git clone -q --no-hardlinks '${upstream}' loose
          git clone -q 'file://${upstream}' packed
          for repository in loose packed known; do (
            cd $repository
            git checkout -q topic
            git rebase -q main
            git status --porcelain
            test -z "$(git status --porcelain)"
            git fsck --strict
          ) done
          cd known
          git reset -q --hard HEAD~2
          git reflog expire --expire=now --all
          git gc -q --prune=now`,
        env: GIT_ENVIRONMENT,
        unequal: GIT_INDEX,
      });
    });
  });
}

describe("Work inside, applied, against the same work done directly", () => {
  it("[A11] tar unpacks, and rm removes trees", () => {
    using stage = new Stage(ACTORS[0] ?? "user");
    const packed = join(stage.path, "packed");
    for (const [name, change] of [
      ["one", buildRichTree],
      ["two", changeRichTree],
    ] as const) {
      mkdirSync(packed, { recursive: true });
      change(packed);
      tar(["-cf", join(stage.path, `${name}.tar`), "-C", packed, "."]);
    }
    for (const name of ["first", "second", "third"]) {
      mkdirSync(join(stage.project, name));
      tar(["-xpf", join(stage.path, "one.tar"), "-C", join(stage.project, name)]);
    }
    const extract = "tar --xattrs --acls --same-owner -xp";
    assertSameWork(stage, {
      script: `
        rm -rf first/kinds first/links
        rm -rf second && mkdir second && ${extract} -f '${stage.path}/two.tar' -C second
        ${extract} --recursive-unlink -f '${stage.path}/two.tar' -C third
        mkdir fourth && ${extract} --exclude=device-stays -f '${stage.path}/one.tar' -C fourth && rm -rf fourth/names
        mkdir fifth && ${extract} -f '${stage.path}/one.tar' -C fifth && rm -rf fifth
        rm -rf a.txt`,
    });
  });

  it("[A11] gcc compiles and links", () => {
    using stage = new Stage(ACTORS[0] ?? "user");
    buildProject(stage.project, 6);
    assertSameWork(stage, {
      script: `
        mkdir out
        for source in src/*.c; do gcc -g -O1 -Iinclude -c "$source" -o "out/$(basename "$source" .c).o"; done
        gcc -o out/program out/*.o && strip -o out/stripped out/program
        test "$(out/program)" = "sum 15"
        gcc -save-temps=obj -O2 -Iinclude -o program src/*.c && ./program`,
      env: COMPILER_ENVIRONMENT,
    });
  });

  it("[A11] a parallel make builds, builds again what changed, and cleans", () => {
    using stage = new Stage(ACTORS[0] ?? "user");
    buildProject(stage.project, 24);
    const env = { ...stage.environment, ...COMPILER_ENVIRONMENT };
    execFileSync("make", ["-s", "-j4"], { cwd: stage.project, env });
    assert.equal(spawnSync("make", ["-q"], { cwd: stage.project, env }).status, 0);
    assertSameWork(stage, {
      script: `
        make -q
        for n in 3 7 11; do echo "/* changed */" >> src/part-$n.c; done
        rm src/part-23.c
        make -s -j4
        make -q
        rm build/objects/part-23.o && cp -a build kept && make -s clean && make -s -j4 && diff -r build kept && rm -rf kept/objects`,
      env: COMPILER_ENVIRONMENT,
    });
  });
});

/** With all that makes two archives of one tree the same, and keeps everything. */
function tar(args: readonly string[]): void {
  execFileSync("tar", ["--xattrs", "--acls", "--sparse", "--sort=name", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
}

/**
 * What the machine's own npm needs to find its registry. Not what an npm that runs the tests sets: it would
 * lead to its own cache.
 */
function npmEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => /proxy$|^NODE_EXTRA_CA_CERTS$/i.test(name));
  const { stdout } = spawnSync("npm", ["config", "get", "registry"], { encoding: "utf8" });
  const settings = { npm_config_registry: stdout.trim(), npm_config_update_notifier: "false" };
  return { ...Object.fromEntries(kept), ...settings };
}
