import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { Stage } from "../run/stage.ts";
import { perlLine } from "./system-calls.ts";

/**
 * How many commands join while links are swapped. A launcher that goes by paths is led astray by about every
 * third.
 */
const JOINS = 10;

describe("A command that joins the view of another one", () => {
  it("[X7] runs no program of that one, which swaps links where a root could be put together", {
    skip: process.geteuid?.() !== 0 && "only a command of root can move what something is mounted in",
  }, async () => {
    using stage = new Stage("root");
    plantSystem(stage.project);
    const plan = stage.done("plan", "create", "-r", stage.project).trim();
    const first = stage.start(["plan", "exec", plan, "--", "sh", "-c", swapLinks(stage)]);
    await first.until(() => first.stdout.includes("swapping"));
    for (let joined = 0; joined < JOINS; joined += 1) stage.drydock(["plan", "exec", plan, "--", "true"]);
    await first.assertRunning();
    const added = stage.drydock(["plan", "diff", plan, "--name-only"]);
    assert.equal(added.status, 0, added.stderr);
    assert.doesNotMatch(added.stdout, /ran-/, "planted programs ran");
  });
});

/**
 * Makes a folder a root in which programs of its own would run under the names of those that a launcher might
 * run.
 */
function plantSystem(folder: string): void {
  const libraries = [...spawnSync("ldd", ["/bin/sh"], { encoding: "utf8" }).stdout.matchAll(/(\/\S+) \(/g)];
  for (const path of ["/bin/sh", ...libraries.map(([, library = ""]) => library)]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    copyFileSync(path, join(folder, path));
  }
  for (const place of ["usr/bin", "usr/sbin", "bin", "sbin"]) {
    mkdirSync(join(folder, place), { recursive: true });
    for (const name of ["umount", "ip", "ln", "setpriv", "unshare", "env", "mount", "node"]) {
      writeFileSync(join(folder, place, name), `#!/bin/sh\necho "$0 $*" > "/ran-${name}"\nexit 1\n`);
      chmodSync(join(folder, place, name), 0o755);
    }
  }
}

/**
 * Moves everything that is mounted away, and puts dummies in its place, in which "root" is a folder one
 * moment and a link to the sandbox, which is a mount that can be made the root, the next.
 */
function swapLinks(stage: Stage): string {
  return `cd /; ${perlLine(
    `my ($stage, $state) = @ARGV;
    said("move", rename($stage, "$stage.moved")); mkdir $stage; mkdir $state; mkdir "$state/root";
    symlink("$stage.moved/project", "$state/link"); print "swapping\\n";
    my ($one, $other) = ("$state/root", "$state/link");
    while (1) { syscall($call{renameat2}, -100, $one, -100, $other, 2); select(undef, undef, undef, rand(0.02)); }`,
    ...[stage.path, stage.state],
  )}`;
}
