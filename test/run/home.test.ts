import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe } from "node:test";
import { mountMemory } from "../support/file-systems.ts";
import { ACTORS, inTurn, Stage } from "./stage.ts";
import { WalledStage } from "./walled-stage.ts";

/** What an installer does: settings, a program, and something that was there. */
const INSTALL = `
  mkdir -p ~/.config/tool ~/.local/bin
  echo "on = true" > ~/.config/tool/settings
  printf '#!/bin/sh\\n' > ~/.local/bin/tool
  echo 'export PATH=$HOME/.local/bin:$PATH' >> ~/.profile
  rm ~/old`;
/** Shells and the PATH run these. */
const ALLOWED = ["--allow", ".profile", "--allow", ".local/bin/tool"];
const DONE = {
  ".config": "/",
  ".config/tool": "/",
  ".config/tool/settings": "on = true\n",
  ".local/bin": "/",
  ".local/bin/tool": "#!/bin/sh\n",
  ".profile": "# mine\nexport PATH=$HOME/.local/bin:$PATH\n",
};

class Home {
  readonly stage: Stage;
  readonly env: { readonly DRYDOCK_STATE_DIR: string };

  constructor(stage: Stage) {
    this.stage = stage;
    this.env = { DRYDOCK_STATE_DIR: join(stage.home, ".local/state/drydock") };
    stage.write("home/.profile", "# mine\n");
    stage.write("home/old", "old\n");
    stage.give();
  }

  run(...args: readonly string[]) {
    return this.stage.drydock(["run", ...args], { cwd: this.stage.home, env: this.env });
  }

  /** Without the state directory. */
  tree(): { readonly [path: string]: string } {
    const entries = Object.entries(this.stage.tree("home"));
    return Object.fromEntries(entries.filter(([path]) => !/^\.local(?:\/state.*)?$/.test(path)));
  }
}

for (const actor of ACTORS) {
  describe(`The home of ${actor}`, () => {
    const it = inTurn(actor);
    for (const [how, make] of [
      ["", () => new Stage(actor)],
      [", also where there are no namespaces", () => new WalledStage(actor)],
    ] as const)
      it(`[X2] shows what an installer would do to it, and takes it${how}`, () => {
        using stage = make();
        const home = new Home(stage);
        const before = home.tree();
        const kept = home.run("--keep", "--", "sh", "-c", INSTALL);
        assert.match(kept.stderr, /home\/\.config\/tool\/settings +\| 1 \+/);
        assert.match(kept.stderr, /home\/old +\| 1 -/);
        assert.doesNotMatch(kept.stderr, /^ home\/\.local\/state|outside the plan/m);
        assert.deepEqual(home.tree(), before);
        const { status, stderr } = home.run("--apply", ...ALLOWED, "--", "sh", "-c", INSTALL);
        assert.equal(status, 0, stderr);
        assert.deepEqual(home.tree(), DONE);
      });

    it("[X7] does not show Drydock's state in it, also to the next command, after an attempt to move it", () => {
      using stage = new Stage(actor);
      // Where something is mounted below a temporary folder, an ordinary user sees an empty one instead.
      using _mount = actor === "user" && process.geteuid?.() === 0 ? mountMemory() : undefined;
      const home = new Home(stage);
      const drydock = (...args: readonly string[]) => stage.drydock(args, { cwd: stage.home, env: home.env });
      const id = drydock("plan", "create", "-r", stage.home).stdout.trim();
      const look = 'find ~ -name "drydock.db*"; mv ~/.local ~/.gone; mv ~/.local/state ~/.gone; echo looked';
      for (const _ of [1, 2]) {
        const { stdout } = drydock("plan", "exec", id, "--", "sh", "-c", `{ ${look}; } 2> /dev/null`);
        assert.equal(stdout, "looked\n");
      }
    });

    it("leaves alone a socket in it, and a folder of another user", {
      skip: process.geteuid?.() !== 0 && "only root makes these",
    }, async () => {
      using stage = new Stage(actor);
      const home = new Home(stage);
      stage.write("home/foreign/secret", "not yours\n");
      chownSync(join(stage.home, "foreign"), actor === "root" ? 4242 : 0, 0);
      chmodSync(join(stage.home, "foreign"), 0o700);
      const socket = createServer().listen(join(stage.home, "socket"));
      try {
        const { status, stderr } = home.run("--apply", ...ALLOWED, "--", "sh", "-c", INSTALL);
        assert.equal(status, 0, stderr);
        assert.doesNotMatch(stderr, /foreign|socket/);
        assert.ok(existsSync(join(stage.home, "socket")));
      } finally {
        socket.close();
      }
      assert.equal(stage.read("home/foreign/secret"), "not yours\n");
      assert.ok(existsSync(join(stage.home, ".config/tool/settings")));
    });

    it("leaves alone what is mounted in it", {
      skip: process.geteuid?.() !== 0 && "only root mounts",
    }, () => {
      using stage = new Stage(actor);
      const home = new Home(stage);
      using _ = mountIn(stage);
      const { status, stderr } = home.run("--apply", ...ALLOWED, "--", "sh", "-c", INSTALL);
      assert.equal(status, 0, stderr);
      assert.deepEqual(readdirSync(join(stage.home, "mounted")), ["file"]);
      assert.ok(existsSync(join(stage.home, ".config/tool/settings")));
    });
  });
}

function mountIn(stage: Stage): Disposable {
  const mounted = join(stage.home, "mounted");
  mkdirSync(mounted);
  assert.equal(spawnSync("mount", ["-t", "tmpfs", "none", mounted]).status, 0);
  stage.write("home/mounted/file", "");
  return { [Symbol.dispose]: () => void spawnSync("umount", [mounted]) };
}
