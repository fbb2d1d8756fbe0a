import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertRefused, type Running } from "../end-to-end/workplace.ts";
import { groupsOf } from "./groups-left.ts";
import { ACTORS, inTurn, Stage } from "./stage.ts";

/** Starts up to 60 processes at once, says how many it could start, and waits for a line. */
const BOMB = [
  "perl",
  "-e",
  '$| = 1; for (1..60) { my $p = fork; last unless defined $p; if (!$p) { sleep 100; exit } $n++ } print "$n\\n"; <STDIN>',
];
const HOG = `perl -e '$x = "a" x 300e6'`;
const FILL = "i=0; while [ $i -lt 300 ]; do head -c 1048576 /dev/zero > $F$i; i=$((i+1)); sleep 0.02; done";

const MET_SCRATCH = /^The command met its scratch limit of 8m and was ended\.$/m;

/** Waits for what a bomb says. */
async function forked(bomb: Running): Promise<number> {
  await bomb.until(() => bomb.stdout.includes("\n"));
  return Number(bomb.stdout);
}

for (const actor of ACTORS) {
  describe(`Limits of a command, by ${actor}`, () => {
    const it = inTurn(actor);
    it("[I5] a fork bomb is refused beyond the limit, and nothing else suffers", async () => {
      using stage = new Stage(actor);
      const plan = stage.done("plan", "create", "-r", stage.project).trim();
      const exec = (...limits: readonly string[]) =>
        stage.start(["plan", "exec", plan, ...limits, "--", ...BOMB]);
      const first = exec("--limit", "processes=20");
      assert.equal(await forked(first), 19, "the command itself is one of the 20");
      const outside = stage.shell("for i in $(seq 50); do sleep 0.1 & done; wait; echo fine");
      assert.deepEqual([outside.status, outside.stdout, outside.stderr], [0, "fine\n", ""]);
      const joined = exec("--limit", "processes=20");
      assert.equal(await forked(joined), 19, "each command has a limit of its own");
      const free = exec();
      assert.equal(await forked(free), 60);
      for (const bomb of [first, joined, free]) bomb.input("\n");
      const ends = await Promise.all([first, joined, free].map((bomb) => bomb.ended()));
      assert.deepEqual(
        ends.map(({ status }) => status),
        [0, 0, 0],
      );
      for (const { pid } of [first, joined, free]) assert.deepEqual(groupsOf(pid), []);
    });

    it("[I5] a command that fills the scratch layers is ended, and its plan is kept", () => {
      using stage = new Stage(actor);
      const fill = (...options: readonly string[]) =>
        stage.drydock(
          [
            "run",
            "--apply",
            "--limit",
            "scratch=8m",
            ...options,
            "--",
            "sh",
            "-c",
            `echo 2 > a.txt; ${FILL}`,
          ],
          {
            env: { F: options.includes("--strict") ? "/tmp/f" : `${stage.home}/f` },
          },
        );
      const plain = fill();
      assert.equal(plain.status, 137, plain.stderr);
      assert.match(plain.stderr, MET_SCRATCH);
      assert.match(plain.stderr, /^Not applied, because the command met a limit; kept as plan/m);
      const strict = fill("--strict", "--json");
      assert.match(strict.stderr, MET_SCRATCH);
      const { exitCode, limit, outcome } = JSON.parse(strict.stdout);
      assert.deepEqual({ exitCode, limit, outcome }, { exitCode: 137, limit: "scratch", outcome: "kept" });
      assert.equal(stage.read("project/a.txt"), "one\n");
    });

    it("takes limits from the config, and from the command line before it", () => {
      using stage = new Stage(actor);
      const config = stage.write("drydock.yaml", "sandbox: { limits: { processes: 8 } }\n");
      const count = (...options: readonly string[]) =>
        stage.drydock(["run", "--config", config, "--discard", ...options, "--", ...BOMB]).stdout;
      assert.equal(count(), "7\n");
      assert.equal(count("--limit", "processes=5", "--limit", "processes=12"), "11\n");
    });

    it("[X5] refuses what is not a limit, and says how to write one", () => {
      using stage = new Stage(actor);
      for (const limit of [
        "processes",
        "processes=0",
        "processes=1k",
        "disk=1g",
        "=",
        "memory=1.5g",
        "scratch=0m",
      ])
        assertRefused(
          stage.drydock(["run", "--limit", limit, "--", "true"]),
          2,
          /is not a (?:limit|size)\./,
          /[Ww]rite/,
        );
      for (const none of [
        ["--timeout", "0s"],
        ["--limit", "time=0m"],
      ])
        assertRefused(
          stage.drydock(["run", ...none, "--", "true"]),
          2,
          /The limit time is not a whole number above 0\./,
          /hint: Give a time above 0: 90s, or in a program a number of milliseconds\./,
        );
    });
  });
}

describe("Limits of a command that only root can have", {
  skip: !ACTORS.includes("root") && "needs root",
}, () => {
  it("[I5] a command that takes too much memory is ended with everything it started, and says so", async () => {
    using stage = new Stage("root");
    const script = `echo 2 > a.txt; ${HOG}; sleep 300`;
    const call = ["run", "--apply", "--json", "--limit", "memory=64m", "--", "sh", "-c", script];
    const running = stage.start(call);
    const { status, stdout, stderr } = await running.ended();
    assert.equal(status, 137, stderr);
    assert.match(stderr, /^The command met its memory limit of 64m and was ended\.$/m);
    const { exitCode, limit, outcome } = JSON.parse(stdout);
    assert.deepEqual({ exitCode, limit, outcome }, { exitCode: 137, limit: "memory", outcome: "kept" });
    assert.equal(stage.read("project/a.txt"), "one\n");
    assert.deepEqual(groupsOf(running.pid), []);
  });

  it("[I5] a command that could not start all its processes says so, and does not land unseen", () => {
    using stage = new Stage("root");
    const script = `echo 2 > a.txt; perl -e 'fork for 1..5; sleep 1'; exit 0`;
    const { status, stderr } = stage.drydock([
      "run",
      "--apply",
      "--limit",
      "processes=10",
      "--",
      "sh",
      "-c",
      script,
    ]);
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^The command met its limit of 10 processes: it could not start more\.$/m);
    assert.equal(stage.read("project/a.txt"), "one\n");
  });

  it("[I5] refuses a limit in which nothing can be started", async () => {
    using stage = new Stage("root");
    const running = stage.start(["run", "--limit", "memory=64k", "--", "true"]);
    assertRefused(
      await running.ended(),
      1,
      /can't be started within its memory limit of 64k\./,
      /--limit memory=/,
    );
    assert.deepEqual(stage.answer("plan", "list").plans, []);
    assert.deepEqual(groupsOf(running.pid), []);
  });

  it("[I5] a command can't leave its control group", () => {
    using stage = new Stage("root");
    const leave =
      "for f in $(find /sys/fs/cgroup -name cgroup.procs); do (echo $$ > $f) 2>/dev/null && echo left $f; done; cat /proc/self/cgroup";
    const groups = stage.insideDone(leave, "--limit", "processes=100", "--limit", "memory=1g");
    assert.doesNotMatch(groups, /^left/m);
    assert.match(groups, /\/drydock-/);
  });

  it("[I5] a limit of memory that can't be kept without privilege is refused before anything runs", () => {
    using stage = new Stage("user");
    const refused = stage.drydock(["run", "--limit", "memory=64m", "--", "touch", "made"]);
    assertRefused(
      refused,
      1,
      /A limit of memory can't be kept here: this user may not make/,
      /root.*systemd-run --user/,
    );
    assert.deepEqual(stage.answer("plan", "list").plans, []);
  });
});
