import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "../end-to-end/workplace.ts";
import { TestRepository } from "../support/test-repository.ts";

/** A project with a policy of the user's own, and a plan that changes what it protects. */
class Guarded extends Workplace {
  readonly #env = { DRYDOCK_CONFIG: join(this.path, "drydock.yaml") };
  readonly id: string;

  constructor(strategy: string, project = "") {
    super();
    this.write("home/.config/drydock/config.yaml", 'run:\n  write: { protect: [infra, "app:deploy.sh"] }\n');
    this.write("drydock.yaml", `sandbox: { allow_self_running: ["**"] }\n${project}`);
    for (const name of ["app/infra/main.tf", "app/infra/old.tf", "app/deploy.sh", "app/a.txt"])
      this.write(name, "old\n");
    if (strategy === "git_worktree") {
      const repository = new TestRepository(join(this.path, "app"));
      repository.git("init", "-q");
      repository.git("add", "-A");
      repository.git("commit", "-q", "-m", "all");
    }
    this.id = this.must("plan", "create", "-r", `app,strategy=${strategy}`).trim();
    const sandbox = this.must("plan", "path", this.id, "app").trim();
    for (const name of ["infra/main.tf", "a.txt"]) writeFileSync(join(sandbox, name), "new\n");
    rmSync(join(sandbox, "infra/old.tf"));
  }

  call(...args: readonly string[]) {
    return this.drydock(args, { env: this.#env });
  }

  must(...args: readonly string[]): string {
    const { status, stdout, stderr } = this.call(...args);
    assert.equal(status, 0, stderr);
    return stdout;
  }

  get main(): string {
    return this.read("app/infra/main.tf");
  }
}

describe("A path that a policy protects", () => {
  for (const strategy of ["filesystem_copy", "git_worktree"])
    it(`lands only with the user's word for that landing, its deletion too, with ${strategy}`, () => {
      using place = new Guarded(strategy);
      const listed = JSON.parse(place.must("plan", "diff", "--json", place.id)).selfRunning;
      const from = `${place.path}/home/.config/drydock/config.yaml:2:22`;
      assert.deepEqual(
        listed.map(({ path, why, needsWord }: { [key: string]: unknown }) => [path, why, needsWord]),
        ["infra/main.tf", "infra/old.tf"].map((path) => [path, `protects it (${from})`, true]),
      );
      const refused = place.call("plan", "apply", "--yes", place.id);
      assert.equal(refused.status, 1);
      assert.match(refused.stderr, /A policy protects infra\/main\.tf and 1 more, and it takes your word/);
      assert.match(refused.stderr, /^ {2}protected: app\/infra\/old\.tf: the policy protects it/m);
      assert.equal(place.call("plan", "apply", "--allow", "infra/main.tf", place.id).status, 1);
      assert.deepEqual([place.main, place.read("app/a.txt")], ["old\n", "old\n"]);
      place.must("plan", "apply", "--allow", "infra/*", place.id);
      assert.equal(place.main, "new\n");
      place.must("plan", "undo", place.id);
      assert.equal(place.main, "old\n");
    });

  it("stays in the plan while the rest lands, an approval carries the word, and a project's config protects more", () => {
    using place = new Guarded("filesystem_copy", "run: { write: { protect: [a.txt] } }\n");
    assert.match(place.call("plan", "apply", place.id, "--only", "a.txt").stderr, /protects a\.txt,/);
    place.must("plan", "apply", place.id, "--only", "a.txt", "--allow", "a.txt");
    assert.deepEqual([place.main, place.read("app/a.txt")], ["old\n", "new\n"]);
    const { digest } = JSON.parse(place.must("plan", "diff", "--json", place.id));
    assert.equal(place.call("approve", place.id, "--digest", digest).status, 1);
    place.must("approve", place.id, "--digest", digest, "--allow", "app:infra");
    place.must("plan", "apply", "--approved", place.id);
    assert.equal(place.main, "new\n");
    const told = JSON.parse(place.must("run", "--explain", "--json", "-r", "app", "--", "true")).protects;
    assert.deepEqual(
      told.map(({ path }: { path: string }) => path),
      ["infra", "app:deploy.sh", "a.txt"],
    );
  });
});
