import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Ended, Workplace } from "./workplace.ts";

/**
 * A machine that lets nobody mount: a user namespace without a mount namespace of its own, in which no
 * further one can be made.
 */
function withoutMounts(place: Workplace, ...args: readonly string[]): Ended {
  const script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$DRYDOCK" "$@"';
  return place.run("unshare", ["--user", "--map-root-user", "bash", "-c", script, "drydock", ...args]);
}

describe("where no overlay can be mounted", () => {
  it("[S5] [O2] a folder gets the next strategy, and the reasons are said", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "old\n" });
    const created = withoutMounts(place, "plan", "create", "-r", "app", "--json");
    assert.equal(created.status, 0, created.stderr);
    const [{ strategy, why, path }] = JSON.parse(created.stdout).resources;
    assert.equal(strategy, "filesystem_copy");
    assert.match(
      why,
      /passed over: snapshot: .*; overlay: kernel: .*; user-namespace: .*switched off.*; fuse: /,
    );
    place.write(`${path.slice(place.path.length + 1)}/a.txt`, "new\n");
    assert.equal(withoutMounts(place, "plan", "apply").status, 0);
    assert.equal(place.read("app/a.txt"), "new\n");
  });

  it("doctor says of each way why it does not work", () => {
    using place = new Workplace();
    const { status, stdout } = withoutMounts(place, "doctor", "--json");
    const overlay = JSON.parse(stdout).strategies.find(
      ({ name }: { readonly name: string }) => name === "overlay",
    );
    assert.equal(status, 0, "commands run behind walls");
    assert.equal(overlay.works, false);
    assert.deepEqual(
      overlay.ways.map(({ name, works }: { readonly name: string; readonly works: boolean }) => [
        name,
        works,
      ]),
      [
        ["kernel", false],
        ["user-namespace", false],
        ["fuse", false],
      ],
    );
  });

  it("asking for it by name is refused before anything is made", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "old\n" });
    const { status, stderr } = withoutMounts(place, "plan", "create", "-r", "app,strategy=overlay");
    assert.equal(status, 1);
    assert.match(stderr, /^error: overlay does not work for app: kernel: /);
    assert.deepEqual(place.answer("plan", "list", "--all"), { plans: [] });
  });

  it("[W2] a command runs behind walls, in the sandbox, and lands", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "old\n" });
    const script = `echo new > a.txt; echo x > ${join(place.path, "outside")} || true`;
    const { status, stderr } = withoutMounts(
      place,
      "run",
      "-r",
      "app",
      "--apply",
      "--",
      "bash",
      "-c",
      script,
    );
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^There are no namespaces here .*Landlock keeps it from writing elsewhere/);
    assert.match(stderr, /outside: Permission denied/);
    assert.equal(place.read("app/a.txt"), "new\n");
    assert.equal(existsSync(join(place.path, "outside")), false);
    assert.deepEqual(place.answer("plan", "list"), { plans: [] });
  });
});
