import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, inTurn, Stage } from "../run/stage.ts";

/** The state directory holds passwords of databases and the work of all plans. */
for (const actor of ACTORS) {
  describe(`The state directory, run by ${actor}`, () => {
    const it = inTurn(actor);
    for (const [where, below] of [
      ["beside the home", "state"],
      ["in the home", "home/.local/state/drydock"],
    ] as const) {
      it(`[X7] ${where} is not there inside, also after the folders above it were moved away`, () => {
        using stage = new Stage(actor);
        const state = join(stage.path, below);
        const other = join(stage.write("other/file", "the secret\n"), "..");
        const exec = inPlan(stage, { DRYDOCK_STATE_DIR: state, STATE: state, STAGE: stage.path }, other);
        // Nothing may be mounted there either: it would be left behind where it was, or come along.
        assert.equal(exec(LOOK, "--strict"), "looked\n");
        assert.equal(exec(LOOK), "looked\n");
        assert.equal(exec(MOVE_AWAY), "tried\n");
        assert.equal(exec(SEARCH), "searched\n");
      });
    }

    it("[X7] is not named by a process inside, and no argument of Drydock is", () => {
      using stage = new Stage(actor);
      const named = ["--state-dir", join(stage.path, "named-state"), "--discard", "--name", "named-plan"];
      const look = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep named-[sp]; echo looked";
      const { stdout, stderr } = stage.drydock(["run", ...named, "--", "sh", "-c", look]);
      assert.equal(stdout, "looked\n", stderr);
    });
  });
}

const LOOK = `
  [ -e "$STATE" ] && echo "it is there"
  grep "$STATE" /proc/self/mountinfo | cut -d ' ' -f 5 | grep "$STATE"
  echo looked`;
/** Every folder above the state, up to the stage, is moved in turn, and made anew. */
const MOVE_AWAY = `
  above=\${STATE%/*}
  while [ "$above" != "\${STAGE%/*}" ]; do
    /usr/bin/perl -e 'rename($ARGV[0], "$ARGV[0].moved")' "$above"
    mkdir -p "$STATE/root" "$STATE/runs" "$STATE/sandboxes" "$STAGE/project" "$HOME"
    above=\${above%/*}
  done 2> /dev/null
  echo tried`;
/** The database, other plans' sandboxes, or what is in these, wherever they are. */
const SEARCH = `
  {
    find "$STAGE"* -name "drydock.db*"
    find "$STAGE"* -path "*/sandboxes/*"
    grep -rl "the secret" "$STAGE"* | grep -v /other/file
  } 2> /dev/null | head -n 5
  echo searched`;

describe("A workspace beside an original", () => {
  it("[X7] is not there inside, also after the folder that it is in was moved away", {
    skip:
      process.geteuid?.() !== 0 && "only root mounts another disk, and can move what something is mounted in",
  }, () => {
    using stage = new Stage("root");
    // On another disk than the state directory, so that what lands is moved on the same one.
    const disk = stage.folder("disk", {});
    assert.equal(spawnSync("mount", ["-t", "tmpfs", "none", disk]).status, 0);
    stage.write("disk/home/deep/other/file", "the secret\n");
    const env = { HOME: join(disk, "home") };
    const exec = inPlan(stage, { ...env, STATE: stage.state }, join(disk, "home/deep/other"));
    const look = `grep -rl "the secret" ~ | grep -v /other/file; echo looked`;
    // Outside it is found.
    const found = stage.shell(look, { env }).stdout;
    assert.match(found, /deep\/\.drydock-.*\nlooked\n$/);
    assert.equal(exec(look), "looked\n");
    const move = `cd ~; /usr/bin/perl -e 'rename("deep", "moved")'; mkdir -p deep`;
    const makeDummies = "cd ~/moved && for name in .drydock-*; do mkdir ../deep/$name; done";
    assert.equal(exec(`${move}; ${makeDummies}; ${look}`), "looked\n");
    assert.equal(exec(look), "looked\n");
  });
});

/** Runs scripts in a plan, beside one over another folder, of which it has a copy; returns what they say. */
function inPlan(
  stage: Stage,
  env: NodeJS.ProcessEnv,
  other: string,
): (script: string, ...options: readonly string[]) => string {
  const done = (...args: readonly string[]) => {
    const { status, stdout, stderr } = stage.drydock(args, { env });
    assert.equal(status, 0, stderr);
    return stdout;
  };
  stage.give();
  done("plan", "create", "-r", `${other},strategy=filesystem_copy`);
  const plan = done("plan", "create", "-r", stage.project).trim();
  return (script, ...options) => done("plan", "exec", plan, ...options, "--", "sh", "-c", script);
}
