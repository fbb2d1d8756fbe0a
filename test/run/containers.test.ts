import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { whyNoPodman } from "../support/podman.ts";
import { AS_USER, Container, profileIn } from "./container.ts";

const SCRIPT = "pwd; echo two >> a.txt; echo x > /work/outside; echo x > /usr/x; ls /proc | head -n 1";

/** A run that leaves a file in the home, which then joins the plan. */
const OVER_IMAGE = `set -e
  "$DRYDOCK" doctor
  "$DRYDOCK" run -q --apply -- sh -c 'echo two >> a.txt; echo kept > ~/kept; ls -A /tmp /dev/shm' || test $? = 1
  echo "places: $(ls -A /dev/shm)"
  "$DRYDOCK" plan scratch list
  "$DRYDOCK" plan exec -- sh -c 'echo inside: $(cat ~/kept)$(ls -A /dev/shm)'
  "$DRYDOCK" plan add ~
  "$DRYDOCK" plan apply
  echo landed: $(cat ~/kept a.txt)
  echo left: $(ls -A /dev/shm)`;

const LOST = `set -e
  "$DRYDOCK" plan create -r .
  "$DRYDOCK" plan exec -- sh -c 'echo kept > ~/kept'
  rm -r /dev/shm/.drydock-scratch-*
  "$DRYDOCK" plan scratch list
  "$DRYDOCK" plan exec -- sh -c 'test ! -e ~/kept; echo again > ~/kept'
  "$DRYDOCK" plan exec -- sh -c 'cat ~/kept'`;

describe("In a container of podman", { skip: whyNoPodman() ?? false }, () => {
  for (const [who, options, says] of [
    ["root with podman's usual rights", [], /no new \/proc/],
    ["an ordinary user with podman's usual rights", [AS_USER], /no new \/proc/],
    ["root with SYS_ADMIN", ["--cap-add=SYS_ADMIN"], /^ project/m],
  ] as const) {
    it(`[W2] ${who} has commands in namespaces, at the path of the original, and lands their work`, () => {
      using container = new Container(...options);
      const { status, stdout, stderr } = container.drydock("run", "--apply", "--", "sh", "-c", SCRIPT);
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^\/work\/project\n1\n$/);
      assert.match(stderr, /cannot create \/work\/outside/);
      assert.match(stderr, says);
      assert.equal(readFileSync(join(container.project, "a.txt"), "utf8"), "one\ntwo\n");
    });
  }

  for (const [who, options] of [
    ["root with podman's usual rights", []],
    ["an ordinary user", [AS_USER]],
    ["root with SYS_ADMIN", ["--cap-add=SYS_ADMIN"]],
  ] as const)
    it(`[W1][W6] whose root is an overlay, ${who} has scratch layers in memory, which a resource takes over`, () => {
      using container = new Container(...options);
      const { status, stdout, stderr } = container.scriptOverImage(OVER_IMAGE);
      assert.equal(status, 0, `${stdout}${stderr}`);
      assert.match(stdout, /\nok +run +commands run inside .* is kept in \/dev\/shm \([0-9]+ MiB free;/);
      assert.match(stdout, /\nplaces: \.drydock-scratch-[0-9A-Z]{26}\n~\/kept +5 bytes\ninside: kept\n/);
      assert.match(stdout, /\nlanded: kept one two\nleft:\n$/);
    });

  it("[W1] whose root is an overlay, an original on a volume has an overlay", () => {
    using folder = temporaryFolder();
    using container = new Container(`--volume=${folder.path}:/volume`);
    const { status, stdout, stderr } = container.scriptOverImage(
      'cd /volume; "$DRYDOCK" run --apply -- sh -c "echo 2 > new"; "$DRYDOCK" plan list --all --json',
    );
    assert.equal(status, 0, stderr);
    assert.match(stdout, /"strategy": ?"overlay"/);
    assert.equal(readFileSync(join(folder.path, "new"), "utf8"), "2\n");
  });

  it("[W1] whose root is an overlay, scratch that a restart has taken is said to be gone", () => {
    using container = new Container();
    const { status, stdout, stderr } = container.scriptOverImage(LOST);
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^What was written outside of the plan is gone: it was in \/dev\/shm\/.*\.\n/m);
    assert.match(stderr, /outside of its resources was in \/dev\/shm\/.*, which is gone\./);
    assert.match(stdout, /\nagain\n$/);
  });

  for (const [who, user] of [
    ["root", []],
    ["an ordinary user", [AS_USER]],
  ] as const) {
    it(`[W2] that refuses namespaces, as Docker's do, ${who} has commands behind walls`, () => {
      using folder = temporaryFolder();
      using container = new Container(profileIn(folder.path), ...user);
      const { status, stdout, stderr } = container.drydock("run", "--apply", "--", "sh", "-c", SCRIPT);
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^\/.*\/\.local\/state\/drydock\/sandboxes\/.*\n1\n$/);
      assert.match(
        stderr,
        /There are no namespaces here \((?:unshare|clone).*operation not permitted.*\).*Landlock/i,
      );
      assert.match(stderr, /cannot create \/work\/outside/);
      assert.equal(readFileSync(join(container.project, "a.txt"), "utf8"), "one\ntwo\n");
      const doctor = container.drydock("doctor").stdout;
      assert.match(doctor, /\nok +run +commands run with Landlock .*--cap-add SYS_ADMIN/);
      assert.doesNotMatch(doctor, /as root|root can/i);
    });

    it(`[W2] that has no Landlock either, ${who} runs commands only with --unconfined`, () => {
      using folder = temporaryFolder();
      using container = new Container(profileIn(folder.path, "landlock_create_ruleset"), ...user);
      const refused = container.drydock("run", "--", "true");
      assert.equal(refused.status, 1, refused.stderr);
      assert.match(refused.stderr, /can't be confined here: there are no namespaces .* no Landlock/);
      assert.match(refused.stderr, /hint: Nothing was run. .*--cap-add SYS_ADMIN.*--unconfined/);
      assert.match(container.drydock("doctor").stdout, /\nno +run +The command can't be confined here/);
      const ran = container.drydock(
        "run",
        "--unconfined",
        "--apply",
        "--",
        "sh",
        "-c",
        "echo 2 > a.txt; pwd",
      );
      assert.equal(ran.status, 0, ran.stderr);
      assert.match(ran.stderr, /without walls: it can change everything that you can/);
      assert.equal(readFileSync(join(container.project, "a.txt"), "utf8"), "2\n");
    });
  }
});

function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "drydock-profile-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
}
