import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { ACTORS, inTurn, Stage } from "./stage.ts";

/** What a command inside sees, and where what it writes goes. */
for (const actor of ACTORS) {
  describe(`What a command sees, run by ${actor}`, () => {
    const it = inTurn(actor);
    it("shows the sandbox at the path of the original", () => {
      using stage = new Stage(actor);
      const path = join(stage.project, "a.txt");
      const said = stage.insideDone(
        `pwd; echo two >> '${path}'; cat a.txt; cat '${path}'`,
        "-r",
        stage.project,
      );
      assert.equal(said, `${stage.project}\none\ntwo\none\ntwo\n`);
      assert.equal(stage.read("project/a.txt"), "one\n");
    });

    it("is the current folder without -r, and the command starts in it", () => {
      using stage = new Stage(actor);
      const { status, stderr, stdout } = stage.drydock([
        "run",
        "--apply",
        "--",
        "sh",
        "-c",
        "pwd; echo two > b.txt",
      ]);
      assert.equal(status, 0, stderr);
      assert.equal(stdout, `${stage.project}\n`);
      assert.deepEqual(stage.tree("project"), { "a.txt": "one\n", "b.txt": "two\n" });
    });

    it("starts in the folder it was called from if that is in a resource, else in the first resource", () => {
      using stage = new Stage(actor);
      stage.write("project/deep/er/", "");
      stage.write("other/", "");
      stage.give();
      const at = (cwd: string) =>
        stage.drydock(["run", "-r", stage.project, "--", "pwd"], { cwd: join(stage.path, cwd) }).stdout;
      assert.equal(at("project/deep/er"), `${stage.project}/deep/er\n`);
      assert.equal(at("other"), `${stage.project}\n`);
    });

    it("is read-only outside, and keeps what is written to home and temporary folders in a scratch layer that does not land", () => {
      using stage = new Stage(actor);
      stage.write("home/known.txt", "known\n");
      stage.write("beside/", "");
      stage.give();
      const { stderr, stdout, status } = stage.inside(`
        cat ~/known.txt; echo changed > ~/known.txt; mkdir -p ~/.cache/x; echo 1 > ~/.cache/x/1
        echo 2 > /tmp/drydock-scratch-probe; echo 3 > /var/tmp/drydock-scratch-probe; echo 4 > /dev/shm/drydock-scratch-probe
        cat ~/known.txt /tmp/drydock-scratch-probe /var/tmp/drydock-scratch-probe
        for f in /drydock-probe /etc/drydock-probe /usr/drydock-probe /dev/drydock-probe; do ( : > $f ) 2>/dev/null && echo "wrote $f"; done; true`);
      assert.equal(status, 0, stderr);
      assert.equal(stdout, "known\nchanged\n2\n3\n");
      assert.match(stderr, /also wrote 4 files outside the plan; not landed/);
      assert.equal(stage.read("home/known.txt"), "known\n");
      assert.deepEqual(readdirSync(stage.home), ["known.txt"]);
      for (const folder of ["/tmp", "/var/tmp", "/dev/shm"])
        assert.ok(!existsSync(join(folder, "drydock-scratch-probe")), folder);
    });

    it("keeps the scratch layer for the next command of the plan, and removes it with the plan", () => {
      using stage = new Stage(actor);
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      const run = (script: string) => stage.drydock(["plan", "exec", id, "--", "sh", "-c", script]);
      assert.match(run("echo kept > ~/cache; echo two > /tmp/drydock-probe-2").stderr, /also wrote 2 files/);
      const second = run("cat ~/cache; rm ~/cache; echo x > ~/other");
      assert.equal(second.stdout, "kept\n");
      assert.match(second.stderr, /also wrote 1 file outside/);
      assert.ok(existsSync(join(stage.state, "runs", id)));
      stage.drydock(["plan", "cancel", id]);
      assert.ok(!existsSync(join(stage.state, "runs", id)));
    });

    it("has no scratch layer over a home that is, or is in, a resource: what is written there lands", () => {
      using stage = new Stage(actor);
      const ran = stage.drydock(["run", "--apply", "-r", stage.home, "--", "sh", "-c", "echo 1 > ~/new"], {
        cwd: stage.home,
      });
      assert.equal(ran.status, 0, ran.stderr);
      assert.deepEqual(stage.tree("home"), { new: "1\n" });
    });

    it("[X7] does not show the state directory nor other sandboxes", () => {
      using stage = new Stage(actor);
      stage.done("plan", "create", "-r", stage.project, "--name", "other");
      const said = stage.insideDone(
        `[ -e '${stage.state}' ] || echo absent; ls '${stage.state}/drydock.db' 2>&1 | wc -l`,
      );
      assert.equal(said, "absent\n1\n");
    });

    it("shows a single file in its place", () => {
      using stage = new Stage(actor);
      stage.write("project/b.txt", "b\n");
      stage.give();
      const file = join(stage.project, "a.txt");
      const { status, stderr } = stage.drydock([
        "run",
        "--apply",
        "-r",
        file,
        "--",
        "sh",
        "-c",
        "echo two >> a.txt",
      ]);
      assert.equal(status, 0, stderr);
      assert.deepEqual(stage.tree("project"), { "a.txt": "one\ntwo\n", "b.txt": "b\n" });
    });

    it("shows several resources at once", () => {
      using stage = new Stage(actor);
      stage.write("second/x", "x\n");
      stage.give();
      const second = join(stage.path, "second");
      const script = `echo 1 > "$DRYDOCK_RESOURCE_PROJECT/new"; echo 2 > "$DRYDOCK_RESOURCE_MY_SECOND/new"`;
      const ran = stage.drydock([
        "run",
        "--apply",
        "-r",
        stage.project,
        "-r",
        `my-second=${second}`,
        "--",
        "sh",
        "-c",
        script,
      ]);
      assert.equal(ran.status, 0, ran.stderr);
      assert.equal(readFileSync(join(second, "new"), "utf8"), "2\n");
      assert.equal(stage.read("project/new"), "1\n");
    });

    it("has a terminal's worth of devices, its own processes, and nothing else", () => {
      using stage = new Stage(actor);
      const said = stage.insideDone(
        `ls /dev | tr '\\n' ' '; echo; head -c 3 /dev/zero | wc -c; echo x > /dev/null; ls -d /proc/[0-9]* | wc -l`,
      );
      const [devices, bytes, processes] = said.split("\n");
      assert.equal(devices, "drydock fd full null ptmx pts random shm stderr stdin stdout tty urandom zero ");
      assert.equal(bytes, "3");
      assert.ok(Number(processes) < 8, processes);
    });

    it("with --strict has only the resources and private temporary folders to write to", () => {
      using stage = new Stage(actor);
      stage.write("home/known.txt", "known\n");
      stage.give();
      const { status, stdout, stderr } = stage.inside(
        `cat ${stage.home}/known.txt 2>/dev/null; ls -A /run; echo 1 > /tmp/p && echo 2 > /var/tmp/p && echo tmp; ( : > ~/x ) 2>/dev/null || echo home; echo two > a.txt; cat a.txt`,
        "--strict",
      );
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^(?:systemd\n)?tmp\nhome\ntwo\n$/);
      assert.doesNotMatch(stderr, /also wrote/);
      assert.equal(stage.read("project/a.txt"), "one\n");
    });

    it("with --no-network has only a loopback of its own", () => {
      using stage = new Stage(actor);
      const names = (...options: string[]) =>
        stage
          .insideDone(
            "ls /proc/self/net/dev_snmp6 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '",
            ...options,
          )
          .trim()
          .split("\n")
          .at(-1);
      assert.equal(names("--no-network"), "lo");
    });
  });
}
