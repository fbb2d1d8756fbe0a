import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, it } from "node:test";
import { Stage } from "../run/stage.ts";
import { unmount } from "../support/remove-folder.ts";

describe("Control groups of the host", () => {
  for (const options of [[], ["--strict"]])
    it(`[X7] are out of reach of root in namespaces of its own ${options.join(" ")}`, {
      skip: process.geteuid?.() !== 0 && "only root has rights over them",
    }, () => {
      using stage = new Stage("root");
      using victim = new Victim(stage.path);
      const { stdout, stderr } = stage.inside(attack(victim.name), ...options);
      assert.match(stdout, /tried\n$/, stderr);
      assert.deepEqual(victim.state(), { alive: true, frozen: false }, stdout + stderr);
    });
});

/** Freezes and kills the group with this name, in whatever hierarchy can be mounted. */
function attack(name: string): string {
  const write = `for group in $(find m -type d -name '${name}'); do
    for file in cgroup.freeze cgroup.kill; do [ -e $group/$file ] && echo 1 > $group/$file && echo "wrote $file"; done
    [ -e $group/freezer.state ] && echo FROZEN > $group/freezer.state && echo "wrote freezer.state"
  done`;
  const mounts = ["-t cgroup2 none m", "-t cgroup -o freezer none m"].map(
    (options) => `(mount ${options} && ${write})`,
  );
  const script = `mkdir -p m; ${mounts.join("; ")}; umount m`;
  return `for own in -UrmC -mC; do unshare $own sh -c "${script.replaceAll(/[$"]/g, "\\$&")}"; done; echo tried`;
}

/** A process in a control group of its own, in each hierarchy by which it could be frozen. */
class Victim implements Disposable {
  readonly #process: ChildProcess;
  readonly #mounts: readonly string[];
  readonly #groups: readonly string[];
  readonly name: string;

  constructor(folder: string) {
    this.name = `${basename(folder)}-victim`;
    // It is known by its environment: whatever else fails here, the stage ends it.
    this.#process = spawn("sleep", ["600"], { stdio: "ignore", env: { ...process.env, STAGE: folder } });
    const hierarchies = { unified: ["-t", "cgroup2"], freezer: ["-t", "cgroup", "-o", "freezer"] };
    const mounted = Object.entries(hierarchies).map(([name, options]) => {
      const point = join(folder, name);
      mkdirSync(point);
      return spawnSync("mount", [...options, "none", point]).status === 0 ? [point] : [];
    });
    this.#mounts = mounted.flat();
    // The processes that this one starts are in its group, so a group namespace of theirs shows what is
    // below.
    const own = /^0::(.*)$/m.exec(readFileSync("/proc/self/cgroup", "utf8"))?.[1] ?? "/";
    this.#groups = this.#mounts.map((point) => join(point, point.endsWith("unified") ? own : "", this.name));
    for (const group of this.#groups) {
      mkdirSync(group);
      writeFileSync(join(group, "cgroup.procs"), String(this.#process.pid));
    }
    assert.ok(existsSync(join(this.#groups[0] ?? "", "cgroup.freeze")), "there is no unified hierarchy");
  }

  state(): { readonly alive: boolean; readonly frozen: boolean } {
    const stat = readFileSync(`/proc/${this.#process.pid}/stat`, "latin1");
    const frozen = this.#groups.some((group) =>
      ["cgroup.events", "freezer.state"]
        .map((name) => join(group, name))
        .some((file) => existsSync(file) && /^frozen 1$|^FR/m.test(readFileSync(file, "utf8"))),
    );
    return { alive: !/^\S+ \(.*\) [ZX] /s.test(stat), frozen };
  }

  [Symbol.dispose](): void {
    for (const group of this.#groups) {
      if (existsSync(join(group, "cgroup.freeze"))) writeFileSync(join(group, "cgroup.freeze"), "0");
      if (existsSync(join(group, "freezer.state"))) writeFileSync(join(group, "freezer.state"), "THAWED");
    }
    this.#process.kill("SIGKILL");
    // A group goes when nothing is left in it, which may take a moment.
    for (const group of this.#groups) {
      spawnSync("sh", ["-c", 'for i in $(seq 250); do rmdir "$0" 2>&- && exit; sleep 0.02; done', group]);
      assert.equal(existsSync(group), false, "something is left in the group");
    }
    for (const point of this.#mounts) unmount(point);
  }
}
