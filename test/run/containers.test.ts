import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { AS_USER, Container, profileIn, whyNoContainers } from "./container.ts";

const SCRIPT = "pwd; echo two >> a.txt; echo x > /work/outside; echo x > /usr/x; ls /proc | head -n 1";

describe("In a container of podman", { skip: whyNoContainers() ?? false }, () => {
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
      assert.match(stderr, /There are no namespaces here \(unshare: .*Operation not permitted\).*Landlock/);
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
