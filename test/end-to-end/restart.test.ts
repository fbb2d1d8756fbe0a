import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { loseMounts } from "../support/remove-folder.ts";
import { type Ended, Workplace } from "./workplace.ts";

/**
 * The machine as it is after a restart: nothing of ours is mounted any more, and the kernel has another boot
 * id.
 */
class Restarted implements Disposable {
  readonly place = new Workplace();
  readonly #bootId = this.place.write("boot-id", `${randomUUID()}\n`);

  drydock(...args: readonly string[]): Ended {
    loseMounts(this.place.path);
    const script = 'mount --bind "$BOOT_ID" /proc/sys/kernel/random/boot_id && exec "$DRYDOCK" "$@"';
    return this.place.run("unshare", ["--mount", "bash", "-c", script, "drydock", ...args], {
      env: { BOOT_ID: this.#bootId },
    });
  }

  [Symbol.dispose](): void {
    this.place[Symbol.dispose]();
  }
}

describe("after a restart of the machine", () => {
  for (const strategy of ["overlay", "filesystem_copy"]) {
    it(`a sandbox by ${strategy} is marked, and lands only with the user's word`, () => {
      using machine = new Restarted();
      const { place } = machine;
      place.folder("app", { "a.txt": "old\n" });
      place.done("plan", "create", "-r", `app,strategy=${strategy}`, "--name", "fix");
      place.drydock(["plan", "write", "fix", "app", "a.txt"], { input: "new\n" });
      assert.equal(place.answer("plan", "show", "fix").resources[0].restarted, undefined);

      const shown = machine.drydock("plan", "show", "fix", "--json");
      assert.equal(JSON.parse(shown.stdout).resources[0].restarted, true);
      assert.match(machine.drydock("plan", "show", "fix").stdout, /restarted +.*may be missing/);
      assert.match(machine.drydock("plan", "diff", "fix").stdout, /^M {2}app\/a\.txt/m);

      const refused = machine.drydock("plan", "apply", "fix");
      assert.equal(refused.status, 1);
      assert.match(refused.stderr, /restarted since this sandbox was made[\s\S]*--after-restart/);
      assert.equal(place.read("app/a.txt"), "old\n");

      const applied = machine.drydock("plan", "apply", "fix", "--after-restart");
      assert.deepEqual([applied.status, applied.stderr], [0, ""]);
      assert.equal(place.read("app/a.txt"), "new\n");
    });
  }
});
