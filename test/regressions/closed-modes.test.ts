import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { program } from "../end-to-end/workplace.ts";
import { IS_LONG, itInTurn } from "../support/long-form.ts";
import { BY_FUSE_OF_USER, runOverlay } from "../support/overlay-runs.ts";
import { removeFolder } from "../support/remove-folder.ts";

const NOBODY = 65534;
const STRATEGIES = ["overlay", "filesystem_copy"];
const needsRoot = process.geteuid?.() === 0 ? {} : { skip: "not root, so nobody could see what is closed" };

/** What somebody's command leaves: folders and files that their own owner may not look into. */
const CLOSING =
  "echo y >> d/f; mkdir -p n/m; echo deep > n/m/x; chmod 000 n/m; chmod 600 n; echo t > t; chmod 200 t; chmod 600 d; chmod 000 secret";
const OLD = { d: "40755", "d/f": "x\n", secret: "100644" };
const CLOSED = {
  d: "40600",
  "d/f": "x\ny\n",
  n: "40600",
  "n/m": "40000",
  "n/m/x": "deep\n",
  secret: "100000",
  t: "100200",
};

/** Where something is open, was just closed, or is not to be forgotten. */
const KILLS = [
  ["diff", "door.create:1"],
  ["diff", "door.note:1"],
  ["diff", "closed.open:3"],
  ["diff", "closed.close:2"],
  ["diff", "door.times:1"],
  ["diff", "door.remove:1"],
  ["apply", "closed.open:2"],
  ["apply", "closed.close:1"],
  ["apply", "stage.take-out:2"],
] as const;

/** A folder of an ordinary user, and his commands. */
class OrdinaryUser implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "drydock-closed-"));

  constructor() {
    for (const folder of ["w", "w/d"]) mkdirSync(join(this.path, folder));
    writeFileSync(join(this.path, "w/d/f"), "x\n");
    writeFileSync(join(this.path, "w/secret"), "s\n");
    for (const path of [".", "w", "w/d", "w/d/f", "w/secret"])
      chownSync(join(this.path, path), NOBODY, NOBODY);
    chmodSync(this.path, 0o755);
  }

  drydock(args: readonly string[], failpoint?: string) {
    const { PATH, NODE_V8_COVERAGE, DRYDOCK_FROM_SOURCE, DRYDOCK_FAILPOINT_KILLS } = process.env;
    const env = { PATH, NODE_V8_COVERAGE, DRYDOCK_FROM_SOURCE, DRYDOCK_FAILPOINT_KILLS, HOME: this.path };
    const { status, stdout, stderr, signal } = spawnSync(program, args, {
      cwd: join(this.path, "w"),
      uid: NOBODY,
      gid: NOBODY,
      env: {
        ...Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined)),
        DRYDOCK_STATE_DIR: join(this.path, "state"),
        ...(failpoint !== undefined && { DRYDOCK_FAILPOINT: `${failpoint}=kill` }),
      },
      encoding: "utf8",
      timeout: 60_000,
    });
    return { status, stdout, stderr, signal };
  }

  done(...args: readonly string[]): string {
    const { status, stdout, stderr } = this.drydock(args);
    assert.equal(status, 0, `drydock ${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  /** A plan called "fix", in which a command has closed things. */
  plan(strategy: string): void {
    this.done("plan", "create", "-r", `.,strategy=${strategy}`, "--name", "fix");
    this.done("plan", "exec", "fix", "--", "sh", "-c", CLOSING);
  }

  /** Every path below, as root sees it: the content of files that anybody may read, else the mode. */
  tree(path = "w"): { readonly [path: string]: string } {
    const base = join(this.path, path);
    const names = readdirSync(base, { recursive: true, encoding: "utf8" }).sort();
    return Object.fromEntries(
      names.map((name) => {
        const { mode } = lstatSync(join(base, name));
        return [
          name,
          (mode & 0o444) === 0o444 && (mode & 0o170000) === 0o100000 && name !== "secret"
            ? readFileSync(join(base, name), "utf8")
            : mode.toString(8),
        ];
      }),
    );
  }

  /** Notes of what is open that are left in any workspace. */
  notes(): readonly string[] {
    const all = readdirSync(join(this.path, "state"), { recursive: true, encoding: "utf8" });
    return all.filter((name) => /opened-/.test(name));
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }
}

describe("Work that its own user may not look into", needsRoot, () => {
  for (const strategy of STRATEGIES)
    describe(`with ${strategy}`, () => {
      const inTurn = itInTurn(strategy, STRATEGIES);
      inTurn("[W4] [A11] is looked at, lands with its modes, and is taken back", () => {
        using user = new OrdinaryUser();
        user.plan(strategy);
        assert.match(user.done("plan", "diff", "fix"), /n\/m\/x/);
        assert.match(user.done("plan", "diff", "fix", "--patch"), /\+deep/);
        user.done("plan", "apply", "fix");
        assert.deepEqual(user.tree(), CLOSED);
        assert.deepEqual(user.notes(), []);
        user.done("plan", "undo", "fix");
        assert.deepEqual(user.tree(), OLD);
        assert.deepEqual(readdirSync(join(user.path, "state/sandboxes")), []);
      });

      inTurn("[W4] [C6] is saved, repaired inside, brought back, thrown away and cancelled", () => {
        using user = new OrdinaryUser();
        user.plan(strategy);
        user.done("plan", "checkpoint", "fix", "--label", "closed");
        const closed = user.done("plan", "diff", "fix");
        user.done("plan", "exec", "fix", "--", "sh", "-c", "chmod 700 d n && rm d/f && echo more > n/more");
        assert.notEqual(user.done("plan", "diff", "fix"), closed);
        const [saved] = JSON.parse(user.done("plan", "checkpoints", "fix", "--json")).checkpoints.filter(
          ({ label }: { label?: string }) => label === "closed",
        );
        user.done("plan", "restore", "fix", saved.id);
        assert.equal(user.done("plan", "diff", "fix"), closed);
        user.done("plan", "rollback", "fix");
        assert.equal(JSON.parse(user.done("plan", "diff", "fix", "--json")).changes.length, 0);
        user.done("plan", "exec", "fix", "--", "sh", "-c", CLOSING);
        user.done("plan", "cancel", "fix");
        assert.deepEqual(user.tree(), OLD);
        assert.deepEqual(readdirSync(join(user.path, "state/sandboxes")), []);
      });

      it("[A3] [A11] lands exactly after diffs and applies that were killed while something was open", () => {
        using user = new OrdinaryUser();
        user.plan(strategy);
        for (const [command, point] of strategy === "overlay" || IS_LONG ? KILLS : KILLS.slice(-3)) {
          assert.equal(user.drydock(["plan", command, "fix"], point).signal, "SIGKILL", point);
          assert.deepEqual(user.tree(), OLD, point);
        }
        assert.equal(user.drydock(["plan", "apply", "fix"], "land.exchange:1").signal, "SIGKILL");
        user.done("recover");
        assert.deepEqual(user.tree(), CLOSED);
        assert.deepEqual(user.notes(), []);
      });
    });

  it("[A3] [A11] is taken back exactly, also after an undo that was killed while the original was open", () => {
    using user = new OrdinaryUser();
    user.plan("overlay");
    user.done("plan", "apply", "fix");
    assert.equal(user.drydock(["plan", "undo", "fix"], "door.flush:1").signal, "SIGKILL");
    user.done("recover");
    assert.deepEqual(user.tree(), CLOSED);
    assert.equal(user.drydock(["plan", "undo", "fix"], "closed.set:1").signal, "SIGKILL");
    user.done("recover");
    if (JSON.parse(user.done("plan", "show", "fix", "--json")).state === "applied")
      user.done("plan", "undo", "fix");
    assert.deepEqual(user.tree(), OLD);
    assert.deepEqual(user.notes(), []);
  });

  it("[W4] [A11] lives its whole life in an overlay by fuse-overlayfs", {
    skip: BY_FUSE_OF_USER.skip,
  }, async () => {
    await runOverlay(BY_FUSE_OF_USER, "test/regressions/closed-run.ts", [BY_FUSE_OF_USER.way]);
  });

  it("[W4] is listed and purged where sandboxes of cancelled plans stay", () => {
    using user = new OrdinaryUser();
    const config = join(user.path, "settings.yaml");
    writeFileSync(config, "sandbox: { cleanup: manual }\n");
    user.plan("overlay");
    user.done("plan", "cancel", "fix", "--config", config);
    assert.match(user.done("cleanup", "scan"), /its plan is cancelled/);
    user.done("cleanup", "purge");
    assert.deepEqual(readdirSync(join(user.path, "state/sandboxes")), []);
  });

  it("[W4] does not cost a command its own exit code", () => {
    using user = new OrdinaryUser();
    const { status, stderr } = user.drydock(["run", "--apply", "--", "sh", "-c", `${CLOSING}; exit 7`]);
    assert.equal(status, 7, stderr);
    assert.deepEqual(user.tree(), OLD);
  });
});
