import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe } from "node:test";
import { ACTORS, inTurn, Stage } from "../run/stage.ts";
import { OuterShell } from "./outer-shell.ts";

const RUN = `"$DRYDOCK" run --discard --`;
const BASH = "bash --norc --noprofile --noediting -i";

/** A command at a terminal has one of its own, and when it has ended the user's is as it was. */
for (const actor of ACTORS) {
  describe(`The terminal of a command of ${actor}`, () => {
    const it = inTurn(actor);
    it("[I7] has a name inside, at which it is", async () => {
      using stage = new Stage(actor);
      const shell = await OuterShell.open(stage);
      const said = await shell.run(`${RUN} sh -c 'tty && echo through > "$(tty)"'`);
      assert.match(said, /^\/dev\/pts\/\d+\r\nthrough\r\n/);
    });

    it("[X10] is a shell's whose exit code comes out, and leaves the user's as it was, with no job", async () => {
      using stage = new Stage(actor);
      const shell = await OuterShell.open(stage);
      const before = await shell.run("stty -a");
      shell.type(`${RUN} ${BASH}; echo c''ode $?\n`);
      await shell.see(/[#$] $/);
      shell.type("echo i''nside; exit 3\n");
      await shell.see(/inside\r\n/);
      await shell.see(/code 3\r\n/);
      assert.equal(await shell.run("jobs"), "");
      assert.equal(await shell.run("stty -a"), before);
    });

    it("[X10] is the user's as it was, whatever the command set and however it ended", async () => {
      using stage = new Stage(actor);
      for (const end of ["exit 4", "kill -9 $$", "kill -9 0"]) {
        const script = `rm -f after; stty -a > before; ${RUN} sh -c 'stty raw -echo; ${end}'; stty -a > after; stty sane`;
        await stage.terminal(`cd "$HOME"; ${script}`).endedWithin(20);
        const { before, after = "the shell is gone" } = stage.tree("home");
        assert.equal(after, before, end);
      }
    });

    it("[I7] is not shared with Drydock, which goes on when the command ends its whole group", async () => {
      using stage = new Stage(actor);
      const shell = await OuterShell.open(stage);
      const said = await shell.run(
        `"$DRYDOCK" run --keep -- sh -c 'echo two > b.txt; kill -9 0'; echo "code $?"`,
      );
      assert.match(said, /Kept as plan .*code 137\r\n/s);
    });

    it("[I7] takes Ctrl-C to a plain command", async () => {
      using stage = new Stage(actor);
      const shell = await OuterShell.open(stage);
      // The shell goes on with the line also if Drydock ends by the same signal.
      shell.type(`trap : INT; ${RUN} sh -c 'echo u""p; exec sleep 1000'; echo c''ode $?\n`);
      await shell.see(/up\r\n/);
      shell.type("\u0003");
      await shell.see(/code 130\r\n/);
    });

    it("[I7] takes Ctrl-Z to the whole job, which goes on with fg", async () => {
      using stage = new Stage(actor);
      const shell = await OuterShell.open(stage);
      shell.type(`${RUN} sh -c 'echo u""p; read line; echo "got <$line>"; exit 6'\n`);
      await shell.see(/up\r\n/);
      shell.type("\u001a");
      await shell.see(/Stopped/);
      assert.match(await shell.run("jobs -l"), /Stopped/);
      shell.type("fg\n");
      await shell.see(/DRYDOCK.* run /);
      shell.type("a word\n");
      // Until the command has ended, what is typed is for the command.
      await shell.see(/got <a word>\r\n.*No changes\.\r\n/s);
      assert.match(await shell.run("echo code $?"), /code 6\r\n/);
    });

    it("[I7] takes a new size to the command", async () => {
      using stage = new Stage(actor);
      const shell = await OuterShell.open(stage);
      const [, outer = ""] = /(\/dev\/pts\/\d+)/.exec(await shell.run("stty rows 33 cols 77; tty")) ?? [];
      shell.type(
        `trap : INT; ${RUN} sh -c 'trap "stty size" WINCH; stty size; while :; do sleep 0.05; done'; echo c''ode $?\n`,
      );
      await shell.see(/33 77\r\n/);
      assert.equal(spawnSync("stty", ["-F", outer, "rows", "44", "cols", "99"]).status, 0);
      await shell.see(/44 99\r\n/);
      shell.type("\u0003");
      await shell.see(/code 130\r\n/);
    });

    it("[I7] works where there is no job control outside, and the user is asked at the end", async () => {
      using stage = new Stage(actor);
      const terminal = stage.terminal(`"$DRYDOCK" run -- ${BASH}; echo code $?`);
      await terminal.until(() => /[#$] $/.test(terminal.stdout), 20);
      terminal.input("echo 1 > b.txt; exit 3\n");
      await terminal.until(() => terminal.stdout.includes("Apply, keep or discard?"), 20);
      terminal.input("d\n");
      const { stdout } = await terminal.endedWithin(20);
      assert.match(stdout, /Discarded\.\r\ncode 3\r\n/);
    });

    it("[I7] works where the terminal outside controls no session", async () => {
      using stage = new Stage(actor);
      const terminal = stage.terminal(
        `setsid -w "$DRYDOCK" run --discard -- sh -c 'tty; read line; echo "got <$line>"; exit 7'; echo code $?`,
      );
      await terminal.until(() => /\/dev\/pts\/\d+\r\n/.test(terminal.stdout), 20);
      terminal.input("a word\n");
      const { stdout } = await terminal.endedWithin(20);
      assert.match(stdout, /got <a word>\r\n.*code 7\r\n/s);
    });
  });
}
