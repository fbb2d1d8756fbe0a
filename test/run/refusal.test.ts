import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { assertRefused } from "../end-to-end/workplace.ts";
import { ACTORS, inTurn } from "./stage.ts";
import { WalledStage } from "./walled-stage.ts";

for (const actor of ACTORS) {
  describe(`Where a machine gives no namespaces to ${actor}`, () => {
    const it = inTurn(actor);
    it("[W2] run works in the sandbox at its own path, says once what is weaker, and lands", () => {
      using stage = new WalledStage(actor);
      const script = 'pwd; echo "$DRYDOCK_RESOURCE_PROJECT"; echo two >> a.txt; echo x > ~/x; mktemp';
      const run = ["run", "--apply", "--ignore-outside", "--", "sh", "-c", script];
      const { status, stdout, stderr } = stage.drydock(run);
      assert.equal(status, 0, stderr);
      const [place = "", variable, temporary = ""] = stdout.split("\n");
      assert.ok(place.startsWith(`${stage.state}/sandboxes/`), place);
      assert.equal(variable, place);
      assert.ok(temporary.startsWith(`${stage.state}/runs/`), temporary);
      const said =
        /^There are no namespaces here \((?:unshare|clone).*no space left.*Landlock.*It can read the rest/gim;
      assert.equal([...stderr.matchAll(said)].length, 1, stderr);
      assert.match(stderr, /wrote 2 files outside the plan; not landed: ~\/x, \/tmp 1/);
      assert.equal(stage.read("project/a.txt"), "one\ntwo\n");
      assert.deepEqual(readdirSync(stage.home), []);
      assert.deepEqual(readdirSync(join(stage.state, "runs")), []);
    });

    it("[W2] the next command of the plan finds the home of the one before, and its settings", () => {
      using stage = new WalledStage(actor);
      stage.write("home/.gitconfig", "[user]\n\tname = Ada\n");
      stage.write("home/.npm/cached", "");
      stage.give();
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      const exec = (script: string) => stage.drydock(["plan", "exec", id, "--", "sh", "-c", script]);
      assert.equal(exec("git config user.name; mkdir ~/.npm; echo kept > ~/.npm/mine").stdout, "Ada\n");
      assert.equal(exec("ls ~/.npm; cat ~/.npm/mine").stdout, "mine\nkept\n");
      assert.deepEqual(readdirSync(stage.home), [".gitconfig", ".npm"]);
    });

    it("[W2] a strict command is refused by name, and leaves nothing behind", () => {
      using stage = new WalledStage(actor);
      assertRefused(
        stage.drydock(["run", "--strict", "--", "true"]),
        1,
        /strict command can't be run here: without namespaces \((?:unshare|clone).*\) nothing hides the sockets/,
        /user\.max_user_namespaces .*sysctl; or leave out --strict/,
      );
      assert.deepEqual(readdirSync(join(stage.state, "sandboxes")), []);
      assert.deepEqual(readdirSync(join(stage.state, "runs")), []);
    });

    it("[W2] doctor says how commands run, why, and what would give them more", () => {
      using stage = new WalledStage(actor);
      const { status, stdout } = stage.drydock(["doctor"]);
      assert.equal(status, 0, stdout);
      assert.match(
        stdout,
        /\nok +run +commands run with Landlock \(version \d+\), without namespaces: (?:unshare|clone).*; for more, set user\.max_user_namespaces/,
      );
    });

    it("[W2] a command at a terminal has one of its own", async () => {
      using stage = new WalledStage(actor);
      const running = stage.terminal(
        `${stage.entering} "$DRYDOCK" run --discard -- sh -c 'tty; echo hello > /dev/tty'`,
      );
      const { stdout } = await running.endedWithin(60);
      assert.match(stdout, /\/dev\/pts\/\d+\r\nhello\r\n/);
    });
  });
}
