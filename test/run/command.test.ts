import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { assertRefused } from "../end-to-end/workplace.ts";
import { ACTORS, ANY_ACTOR, inTurn, Stage } from "./stage.ts";

/** How a command starts, ends, and is reached meanwhile. */
for (const actor of ANY_ACTOR) {
  describe(`A command inside, whoever runs it, here ${actor}`, () => {
    it("ends drydock with its own exit code", () => {
      using stage = new Stage(actor);
      const code = (...command: string[]) => stage.drydock(["run", "--", ...command]);
      assert.equal(code("true").status, 0);
      assert.equal(code("sh", "-c", "exit 42").status, 42);
      assert.equal(code("sh", "-c", "kill -9 $$").status, 128 + 9);
      stage.write("project/plain", "no program\n");
      stage.give();
      for (const missing of ["no-such-command", "./no-such-command", "cd", ""]) {
        const { status, stderr } = code(missing);
        assert.equal(status, 127, missing);
        assert.equal(stderr.split("\n")[0], `drydock: ${missing}: command not found`);
      }
      for (const denied of ["./plain", "/tmp"]) {
        const { status, stderr } = code(denied);
        assert.equal(status, 126, denied);
        assert.equal(stderr.split("\n")[0], `drydock: ${denied}: permission denied`);
      }
    });

    it("is a program even if the shell has a command of that name", () => {
      using stage = new Stage(actor);
      assert.equal(stage.drydock(["run", "--", "echo", "--version"]).stdout.includes("coreutils"), true);
    });

    it("has standard input and output to itself, byte for byte", () => {
      using stage = new Stage(actor);
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 256));
      writeFileSync(join(stage.path, "input"), bytes);
      const { status, stderr } = stage.shell(
        `"$DRYDOCK" run -- sh -c 'cat; echo problem >&2' < '${stage.path}/input' > '${stage.home}/output'`,
      );
      assert.equal(status, 0, stderr);
      assert.deepEqual(readFileSync(join(stage.home, "output")), bytes);
      assert.equal(stderr, "problem\nNo changes.\n");
    });

    it("with --json leaves standard output to the one document", () => {
      using stage = new Stage(actor);
      const { stdout, stderr, status } = stage.drydock([
        "run",
        "--json",
        "--",
        "sh",
        "-c",
        "echo hello; echo 2 > b; echo 3 > ~/c; exit 7",
      ]);
      assert.equal(status, 7);
      assert.equal(stderr, "hello\n");
      const { planId, exitCode, outcome, diff, scratch } = JSON.parse(stdout);
      assert.deepEqual(
        { exitCode, outcome, scratch },
        {
          exitCode: 7,
          outcome: "kept",
          scratch: { files: 1, places: [{ path: join(stage.home, "c"), files: 1, removed: 0, bytes: 2 }] },
        },
      );
      assert.deepEqual(
        diff.changes.map(({ path }: { path: string }) => path),
        ["b"],
      );
      const ran = stage.drydock(["plan", "exec", planId, "--json", "--", "sh", "-c", "echo again"]);
      assert.equal(JSON.parse(ran.stdout).stdout, "again\n");
      assert.equal(ran.stderr, "");
    });

    it("passes arguments, folders and values of any bytes", () => {
      using stage = new Stage(actor);
      const octal = (bytes: readonly number[]) =>
        bytes.map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
      const all = Array.from({ length: 255 }, (_, at) => at + 1);
      const { stdout, stderr } = stage.shell(`
        odd=$(printf '${octal([...Buffer.from(`odd, 'na:me'\\ "x"\n$(y) \t#`), 0xff, 0x81, 0x88])}')
        mkdir -p "$odd/$odd"; cd "$odd/$odd"; printf x > file
        all=$(printf '${octal(all)}.')
        export VALUE="$all"
        "$DRYDOCK" run --apply -- sh -c 'printf %s "$1" > bytes; printf %s "$VALUE" > value; pwd > where; printf y > file' sh "$all"
        pwd > expected; od -An -v -tx1 bytes | tr -d ' \\n'; echo; od -An -v -tx1 value | tr -d ' \\n'; echo; cat file; cmp where expected
        "$DRYDOCK" run -r "odd=$PWD/../../$odd" -- sh -c 'printf z > file; cat "$DRYDOCK_RESOURCE_ODD/$1/file"' sh "$odd"`);
      const hex = Buffer.from([...all, 46]).toString("hex");
      assert.equal(stdout, `${hex}\n${hex}\nyz`, stderr);
    });

    it("is applied with --apply only if it succeeded, and closes a plan in which nothing changed", () => {
      using stage = new Stage(actor);
      const failed = stage.drydock([
        "run",
        "--apply",
        "--name",
        "failed",
        "--",
        "sh",
        "-c",
        "echo 2 > a.txt; exit 6",
      ]);
      assert.equal(failed.status, 6);
      assert.match(failed.stderr, /Not applied, because the command ended with exit code 6; kept as plan/);
      assert.equal(stage.read("project/a.txt"), "one\n");
      const unchanged = stage.drydock(["run", "--apply", "--name", "unchanged", "--", "cat", "a.txt"]);
      assert.deepEqual(unchanged, { status: 0, stdout: "one\n", stderr: "No changes.\n" });
      const states = stage
        .answer("plan", "list", "--all")
        .plans.map(({ name, state }: { name: string; state: string }) => [name, state]);
      assert.deepEqual(Object.fromEntries(states), { failed: "open", unchanged: "cancelled" });
    });

    it("ends with 3 if it succeeded and its changes conflict, and names the plan that holds them", async () => {
      using stage = new Stage(actor);
      const conflicting = async (...options: string[]) => {
        const script = "echo inside > a.txt; echo ready >&2; read line";
        const running = stage.start(["run", "--apply", ...options, "--", "sh", "-c", script]);
        await running.until(() => running.stderr.includes("ready"));
        stage.write("project/a.txt", "outside\n");
        running.input("\n");
        return await running.ended();
      };
      const { status, stderr } = await conflicting();
      assert.equal(status, 3, stderr);
      assert.match(stderr, /conflict: project\/a\.txt/);
      assert.equal(stage.read("project/a.txt"), "outside\n");
      const [{ id }] = stage.answer("plan", "list").plans;
      assert.match(stderr, new RegExp(`^  plan: ${id}$`, "m"));
      const { error } = JSON.parse((await conflicting("--json")).stdout);
      assert.equal(error.code, "ATOMIC_COMMIT");
      assert.equal(stage.done("plan", "read", error.details.planId, "project", "a.txt"), "inside\n");
    });

    it("is refused in a plan that is read-only or over, and without a command", () => {
      using stage = new Stage(actor);
      const id = stage.done("plan", "create", "-r", stage.project, "--read-only").trim();
      assertRefused(stage.drydock(["plan", "exec", id, "--", "true"]), 2, /read-only/);
      stage.done("plan", "cancel", id);
      assertRefused(
        stage.drydock(["plan", "exec", id, "--", "true"]),
        id === "" ? 2 : 2,
        /read-only|cancelled/,
      );
      assertRefused(stage.drydock(["run"]), 2, /no command/);
      assertRefused(stage.drydock(["run", "--"]), 2, /no command/);
      assertRefused(stage.drydock(["plan", "exec", "a", "b", "--", "true"]), 2, /Only one plan/);
    });
  });
}

/** What goes by the namespaces that it is in, which are others for root. */
for (const actor of ACTORS) {
  describe(`A command inside, run by ${actor}`, () => {
    const it = inTurn(actor);
    it("finds each resource by a variable of its own, also if two names differ only in a space", () => {
      using stage = new Stage(actor);
      const folders = ["a b", "a_b", "a-b"].map((name) => stage.folder(name, { file: "" }));
      stage.give();
      const script = 'for n in "" _2 _3; do eval "echo \\$DRYDOCK_RESOURCE_A_B$n"; done';
      const resources = folders.flatMap((folder) => ["-r", folder]);
      const { stdout, stderr } = stage.drydock(["run", ...resources, "--", "sh", "-c", script]);
      assert.equal(stdout, `${folders.join("\n")}\n`, stderr);
    });

    it("finds its environment as it was, and where the plan's resources are", () => {
      using stage = new Stage(actor);
      const env = { PLAIN: "two\nlines", OLDPWD: "/old", DATABASE_URL: "postgres://x" };
      const { stdout } = stage.drydock(["run", "--", "env", "-0"], {
        env: { ...env, LANG: "C.UTF-8", LC_ALL: "C.UTF-8" },
      });
      const found = Object.fromEntries(
        stdout
          .split("\0")
          .filter(Boolean)
          .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
      );
      for (const [name, value] of Object.entries(env)) assert.equal(found[name], value, name);
      assert.match(found["DRYDOCK_PLAN"] ?? "", /^[0-9A-Z]{26}$/);
      assert.equal(found["DRYDOCK_RESOURCE_PROJECT"], stage.project);
      assert.equal(found["PWD"], stage.project);
      // The socket of the channel takes the place of the state directory, which is not there inside.
      const inherited = Object.keys({ ...stage.environment, ...env });
      const expected = [
        ...inherited.filter((name) => name !== "DRYDOCK_STATE_DIR"),
        "LANG",
        "LC_ALL",
        "DRYDOCK_PLAN",
        "DRYDOCK_RESOURCE_PROJECT",
        "DRYDOCK_SOCKET",
        "PWD",
      ];
      assert.deepEqual(Object.keys(found).toSorted(), expected.toSorted());
    });

    it("is ended with everything it started when it ends, and when drydock is killed", async () => {
      using stage = new Stage(actor);
      const mark = `77${process.pid}`;
      stage.insideDone(`sleep ${mark}1 & sleep ${mark}2 & (setsid sleep ${mark}3 &) ; exit 0`);
      assert.equal(alive(mark), 0);
      const running = stage.start(["run", "--", "sh", "-c", `setsid sleep ${mark}4 & sleep ${mark}5`]);
      await running.until(() => alive(mark) === 2);
      running.signal("SIGKILL");
      await running.ended();
      for (let tries = 0; tries < 100 && alive(mark) > 0; tries += 1) await setTimeout(20);
      assert.equal(alive(mark), 0);
      assert.deepEqual(stage.tree("project"), { "a.txt": "one\n" });
      // What the killed one had mounted is gone with the next call of drydock.
      stage.done("plan", "list");
      assert.deepEqual(mountsIn(stage.path), []);
    });

    it("gets a SIGTERM that drydock gets", async () => {
      using stage = new Stage(actor);
      const script = "trap 'echo stopped > a.txt; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
      const running = stage.start(["run", "--keep", "--", "sh", "-c", script]);
      await running.until(() => running.stdout.includes("ready"));
      running.signal("SIGTERM");
      const { status, stderr } = await running.ended();
      assert.equal(status, 9, stderr);
      assert.match(stderr, /project\/a\.txt/);
    });

    it("gets the Ctrl-C that is typed at the terminal, and drydock goes on", async () => {
      using stage = new Stage(actor);
      writeFileSync(
        join(stage.home, "inner.sh"),
        "trap 'echo caught > b.txt; exit 5' INT; echo up; while :; do sleep 0.05; done",
      );
      const terminal = stage.terminal(
        `trap : INT; "$DRYDOCK" run --keep -- sh "$HOME/inner.sh"; echo "code $?"`,
      );
      await terminal.until(() => terminal.stdout.includes("up"));
      terminal.input("\u0003");
      const { stdout } = await terminal.ended();
      assert.match(stdout, /project\/b\.txt/);
      assert.match(stdout, /code 5/);
    });

    it("has the terminal, and at its end one is asked what to do", async () => {
      using stage = new Stage(actor);
      const answered = async (answer: string) => {
        const script = `stty rows 33 cols 77; "$DRYDOCK" run -- sh -c 'test -t 0 && test -t 1 && stty size < /dev/tty; echo 1 >> b.txt'; echo "code $?"`;
        const terminal = stage.terminal(script);
        await terminal.until(() => terminal.stdout.includes("Apply, keep or discard?"));
        terminal.input(answer);
        return (await terminal.ended()).stdout;
      };
      const discarded = await answered("d\n");
      assert.match(discarded, /33 77/);
      assert.match(discarded, /Discarded\.\r\ncode 0/);
      assert.deepEqual(stage.tree("project"), { "a.txt": "one\n" });
      assert.match(await answered("\n"), /Kept as plan/);
      const [{ id }] = stage.answer("plan", "list").plans;
      const { entries } = stage.answer("plan", "log", id);
      const executed = entries.find(({ event }: { event: string }) => event === "executed");
      assert.equal(executed.details.output, "33 77\r\n");
      assert.match(await answered("\u0003"), /Kept as plan/);
      assert.match(await answered("apply\n"), /Applied plan/);
      assert.equal(stage.read("project/b.txt"), "1\n");
    });

    it("asks on a dumb terminal too, and keeps its plan in CI", async () => {
      using stage = new Stage(actor);
      const run = `"$DRYDOCK" run -- sh -c 'echo 1 >> b.txt'`;
      const dumb = stage.terminal(`TERM=dumb ${run}`);
      await dumb.until(() => /Apply, keep or discard\?|Kept as plan/.test(dumb.stdout));
      dumb.input("a\n");
      assert.match((await dumb.ended()).stdout, /Applied plan/);
      assert.match((await stage.terminal(`CI=true ${run}`).ended()).stdout, /Kept as plan/);
      assert.equal(stage.read("project/b.txt"), "1\n");
    });

    it("keeps its plan when a signal ends it at that question", async () => {
      using stage = new Stage(actor);
      const inner = `echo "pid $$;"; exec "$DRYDOCK" run -- sh -c 'echo 1 >> b.txt'`;
      for (const signal of ["SIGTERM", "SIGHUP"] as const) {
        const terminal = stage.terminal(`bash -c '${inner.replaceAll("'", "'\\''")}'; echo "code $?"`);
        await terminal.until(() => terminal.stdout.includes("Apply, keep or discard?"));
        process.kill(Number(/pid (\d+);/.exec(terminal.stdout)?.[1]), signal);
        const { stdout } = await terminal.endedWithin(60);
        const [{ id }] = stage.answer("plan", "list").plans;
        assert.match(stdout, new RegExp(`${signal}: stopping.*Interrupted.*plan: ${id}.*code 1\r\n`, "s"));
        assert.equal(stage.done("plan", "read", id, "project", "b.txt"), "1\n");
        stage.done("plan", "cancel", id);
      }
      assert.deepEqual(stage.tree("project"), { "a.txt": "one\n" });
    });

    it("has a terminal that belongs to another user, and leaves it as it was", async () => {
      using stage = new Stage(actor);
      const script = `before=$(stty -g); $ACTOR "$DRYDOCK" run -- sh -c 'read answer; echo "$answer" > b.txt'; echo "code $?"; test "$(stty -g)" = "$before"; echo "same $?"`;
      const terminal = stage.terminalOfAnother(script);
      terminal.input("typed\n");
      await terminal.until(() => terminal.stdout.includes("Apply, keep or discard?"));
      terminal.input("a\n");
      assert.match((await terminal.ended()).stdout, /code 0\r\nsame 0/);
      assert.equal(stage.read("project/b.txt"), "typed\n");
    });

    it("[X7] can't leave words for the user's shell in the terminal", async () => {
      using stage = new Stage(actor);
      writeFileSync(join(stage.home, "push.pl"), PUSH_INPUT);
      const terminal = stage.terminal(
        `"$DRYDOCK" run --keep -- /usr/bin/perl "$HOME/push.pl"; read -t 1 line; echo "read <$line>"`,
      );
      assert.match((await terminal.ended()).stdout, /read <>/);
    });

    it("keeps its plan from being rolled back or cancelled, and is named", async () => {
      using stage = new Stage(actor);
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      const running = stage.start([
        "plan",
        "exec",
        id,
        "--",
        "sh",
        "-c",
        "echo 2 > a.txt; echo ready; read line",
      ]);
      await running.until(() => running.stdout.includes("ready"));
      for (const command of ["rollback", "cancel"]) {
        const ended = stage.drydock(["plan", command, id]);
        await running.assertRunning();
        assertRefused(
          ended,
          1,
          /'sh -c .*' is running in the plan .* \(pid \d+\)/,
          /Wait until it has ended, or stop it/,
        );
      }
      assert.equal(JSON.parse(stage.drydock(["plan", "cancel", id, "--json"]).stdout).error.code, "BUSY");
      assert.match(stage.done("plan", "diff", id), /project\/a\.txt/);
      running.input("\n");
      assert.equal((await running.ended()).status, 0);
      assert.match(stage.done("plan", "apply", id), /1 change landed/);
    });

    it("shares the sandbox and the scratch layer with another one of the same plan", async () => {
      using stage = new Stage(actor);
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      const first = stage.start([
        "plan",
        "exec",
        id,
        "--",
        "sh",
        "-c",
        "echo 1 > b; echo 1 > ~/c; echo ready; read line; cat d ~/e",
      ]);
      await first.until(() => first.stdout.includes("ready"));
      const second = stage.drydock([
        "plan",
        "exec",
        id,
        "--",
        "sh",
        "-c",
        "cat b ~/c; echo 2 > d; echo 3 > ~/e; ls -d /proc/[0-9]* | wc -l; (: > /proc/sys/kernel/panic) 2>/dev/null && echo wrote; [ -e '" +
          stage.state +
          "' ] || echo absent",
      ]);
      assert.equal(second.status, 0, second.stderr);
      assert.match(second.stdout, /^1\n1\n[2-7]\nabsent\n$/);
      first.input("\n");
      const { status, stdout } = await first.ended();
      assert.equal(status, 0);
      assert.equal(stdout, "ready\n2\n3\n");
    });
  });
}

function mountsIn(folder: string): readonly string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .filter((line) => line.includes(folder));
}

/** How many processes have this in their command line. */
function alive(mark: string): number {
  const { stdout } = spawnSync("pgrep", ["-fc", `^sleep ${mark}`], { encoding: "utf8" });
  return Number(stdout);
}

/** Types a line into its own terminal. */
const PUSH_INPUT = `open(my $tty, "+<", "/dev/tty") or die; ioctl($tty, 0x5412, $_) for split //, "echo hacked\\n"; exit 0;`;
