import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, Stage } from "../run/stage.ts";
import { whyNoImages } from "../support/file-systems.ts";

/**
 * While commands are run, somebody mounts and unmounts all the time in the temporary folder, which they see:
 * as when containers come and go. All of it in a mount namespace of its own, so that other tests do not see
 * it.
 */
const SCRIPT = `
  point=$1; shift
  while :; do
    mount -t tmpfs drydock-test "$point"; sleep 0.0$((RANDOM % 9))
    umount "$point"; sleep 0.0$((RANDOM % 9))
  done > /dev/null 2>&1 &
  for run in 1 2 3 4 5 6; do
    "$@" run --apply -- sh -c "echo $run > a.txt" || exit 1
    [ "$(cat a.txt)" = $run ] || exit 2
    "$@" doctor | grep -q '^ok  run ' || exit 3
  done
  kill $!`;

for (const actor of ACTORS)
  describe(`Commands run by ${actor} while others mount and unmount`, {
    skip: whyNoImages() ?? false,
  }, () => {
    it("start all the same, and land what they do; doctor knows that they can", () => {
      using stage = new Stage(actor);
      const point = join(stage.path, "point");
      mkdirSync(point);
      const { uid, gid } = statSync(stage.project);
      const user = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--"];
      const alone = ["--mount", "--propagation", "private", "bash", "-c", SCRIPT, "bash", point];
      const { status, stderr } = spawnSync(
        "unshare",
        [...alone, ...user, stage.environment["DRYDOCK"] ?? ""],
        {
          cwd: stage.project,
          env: stage.environment,
          encoding: "utf8",
          stdio: ["ignore", "ignore", "pipe"],
          timeout: 120_000,
        },
      );
      assert.equal(status, 0, stderr);
    });
  });
