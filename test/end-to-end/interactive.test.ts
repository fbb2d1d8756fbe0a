import assert from "node:assert/strict";
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { TestRepository } from "../support/test-repository.ts";
import { assertRefused, Workplace } from "./workplace.ts";

const LINES = Array.from({ length: 20 }, (_, at) => `line ${at}\n`);
const text = (changed: { readonly [line: number]: string } = {}) =>
  LINES.map((line, at) => (changed[at] === undefined ? line : `${changed[at]}\n`)).join("");

const FILES = { "long.txt": text(), "b.txt": "b\n", "old.txt": "old\n", "deep/c.txt": "c\n" };
const PLANNED = text({ 2: "two", 17: "seventeen" });

/** A plan with changes of every kind that an editor can be given. */
class EditPlace extends Workplace {
  constructor(strategy: string) {
    super();
    this.folder("app", FILES);
    symlinkSync("b.txt", join(this.path, "app/link"));
    this.done("plan", "create", "--name", "fix", "-r", `app,strategy=${strategy}`);
    const script = `printf '%s' '${PLANNED}' > long.txt; echo B > b.txt; rm old.txt; echo new > new.txt
      ln -sfn deep/c.txt link; mkdir lib; echo x > lib/x; echo y > lib/y`;
    this.done("plan", "exec", "fix", "-q", "--", "sh", "-ec", script);
  }

  /** Applies with an editor that is a script of sh. */
  edited(script: string, env: NodeJS.ProcessEnv = {}, more: readonly string[] = []) {
    this.write("editor.sh", script);
    const tool = `sh ${join(this.path, "editor.sh")}`;
    return this.drydock(["plan", "apply", "fix", "--tool", tool, ...more], { env });
  }

  changed(): readonly string[] {
    return this.done("plan", "diff", "fix", "--name-only").trim().split("\n");
  }

  left(): readonly string[] {
    return existsSync(join(this.state, "edit")) ? readdirSync(join(this.state, "edit")) : [];
  }
}

for (const strategy of ["overlay", "filesystem_copy"]) {
  describe(`'plan apply --interactive' in a plan of ${strategy}`, () => {
    it("[V2] [V14] lands what comes back from the diff editor, and the rest stays in the plan", () => {
      using place = new EditPlace(strategy);
      const before = place.tree("app");
      const edited = text({ 2: "two, edited" });
      const run = place.edited(`set -e
        grep -q '^line 2$' "$1/long.txt"; grep -q '^two$' "$2/long.txt"; test ! -e "$1/new.txt"
        test "$(cat "$1/old.txt")" = old; test ! -e "$2/old.txt"; test ! -h "$2/link"
        test "$(cat "$1/link") $(cat "$2/link")" = "b.txt deep/c.txt"; test ! -w "$1/b.txt" -o "$(id -u)" = 0
        printf '%s' '${edited}' > "$2/long.txt.tmp"; mv "$2/long.txt.tmp" "$2/long.txt"
        cp "$1/old.txt" "$2/old.txt"; cp "$1/link" "$2/link"; echo edited > "$2/new.txt"
        rm -r "$2/lib"; echo more > "$2/foreign"`);
      assert.equal(run.status, 0, run.stderr);
      assert.match(run.stderr, /no changes of the plan, and do not land: foreign/);
      assert.match(run.stdout, /Applied a part of plan .*: 3 changes landed/);
      const landed = { ...before, "long.txt": edited, "b.txt": "B\n", "new.txt": "edited\n" };
      assert.deepEqual(place.tree("app"), Object.fromEntries(Object.entries(landed).sort()));
      const rest = ["lib", "lib/x", "lib/y", "link", "long.txt", "new.txt", "old.txt"];
      assert.deepEqual(
        place.changed(),
        rest.map((path) => `app/${path}`),
      );
      assert.equal(place.done("plan", "read", "fix", "app", "long.txt"), PLANNED);
      assert.equal(place.done("plan", "read", "fix", "app", "new.txt"), "new\n");
      assert.deepEqual(place.left(), []);

      place.done("plan", "undo", "fix");
      assert.deepEqual(place.tree("app"), before);
      const all = place.edited(":");
      assert.equal(all.status, 0, all.stderr);
      assert.equal(place.answer("plan", "show", "fix").state, "applied");
      assert.equal(place.read("app/long.txt"), PLANNED);
      assert.deepEqual(Object.keys(place.tree("app")), [
        "b.txt",
        "deep",
        "deep/c.txt",
        "lib",
        "lib/x",
        "lib/y",
        "link",
        "long.txt",
        "new.txt",
      ]);
    });
  });
}

describe("'plan apply --interactive'", () => {
  it("lands nothing if the editor fails, if the original moves under its hands, or if it can't land", () => {
    using place = new EditPlace("filesystem_copy");
    const before = place.tree("app");
    const refused = (script: string, code: number, message: RegExp) => {
      assertRefused(place.edited(script), code, message);
      assert.deepEqual(place.tree("app"), before);
      assert.deepEqual(place.left(), []);
    };
    refused("exit 1", 1, /The diff editor ended without success/);
    refused('rm -r "$2"/*', 1, /came back as something else/);
    refused('echo elsewhere > "$2/link"', 1, /link came back as something else/);
    refused('cp "$1"/* "$2"; rm -r "$2/lib" "$2/new.txt"; :', 2, /Nothing came back/);
    refused('rm "$2/lib/y"', 2, /can't land without the rest of the folder lib/);
    refused('echo z > "$2/lib/y"', 2, /lib\/y can only land as the plan has it/);
    const moved = place.edited(`echo other > ${join(place.path, "app/b.txt")}`);
    assertRefused(moved, 3, /the digest differs/);
    assert.deepEqual(place.tree("app"), { ...before, "b.txt": "other\n" });
    assertRefused(place.drydock(["plan", "apply", "fix", "-i", "--approved"]), 2, /can't be|cannot be/);
  });

  it("does not start the editor with a resource that can't land in parts", () => {
    using place = new EditPlace("filesystem_copy");
    place.folder("repo", { "code.txt": "code\n" });
    const repository = new TestRepository(join(place.path, "repo"));
    repository.git("init", "-q", "-b", "main");
    repository.commitAll("first");
    place.done("plan", "add", "fix", "repo,strategy=git_worktree");
    const written = place.drydock(["plan", "write", "fix", "repo", "code.txt"], { input: "CODE\n" });
    assert.equal(written.status, 0, written.stderr);
    const started = join(place.path, "started");
    const before = place.tree("app");
    assertRefused(place.edited(`touch ${started}`), 2, /repo can't land in parts/, /Choose other paths/);
    assert.equal(existsSync(started), false, "the editor was started");
    assert.deepEqual(place.tree("app"), before);
    const chosen = place.edited(`touch ${started}`, {}, ["--only", "app:b.txt"]);
    assert.equal(chosen.status, 0, chosen.stderr);
    assert.equal(existsSync(started), true);
    assert.deepEqual(place.tree("app"), { ...before, "b.txt": "B\n" });
  });

  it("lands nothing if it is killed, and leaves nothing that the next one does not remove", () => {
    using place = new EditPlace("filesystem_copy");
    const before = place.tree("app");
    for (const point of ["edit.place", "edit.make", "edit.write", "edit.remove"]) {
      const killed = place.edited("exit 1", { DRYDOCK_FAILPOINT: `${point}=kill` });
      assert.notEqual(killed.status, 1, point);
      assert.deepEqual(place.tree("app"), before);
    }
    const next = place.edited('test "$(ls "$1/..")" = "$(printf "after\\nbefore")"');
    assert.equal(next.status, 0, next.stderr);
    assert.deepEqual(place.left(), []);
    assert.equal(place.read("app/b.txt"), "B\n");
  });
});
